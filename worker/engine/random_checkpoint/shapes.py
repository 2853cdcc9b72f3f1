"""The dimensions of the published checkpoints of Qwen3-TTS 12 Hz."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1_920
CODEBOOKS = 16
ENCODER_CODEBOOKS = 32
CONTROL_IDS = 1_024
MEL_BINS = 128


@dataclass(frozen=True)
class StackShape:
    """Dimensions of a stack of attention layers."""

    hidden: int
    inter: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int


@dataclass(frozen=True)
class SpeakerShape:
    """Dimensions of the speaker encoder; a published file names none of them."""

    channels: tuple[int, ...] = (512, 512, 512, 512, 1536)
    attention_channels: int = 128
    res2net_scale: int = 8
    se_channels: int = 128


@dataclass(frozen=True)
class Codec:
    """Dimensions of the speech tokenizer."""

    decoder: StackShape
    decoder_window: int
    decoder_dim: int
    latent_dim: int
    codebook_dim: int
    encoder: StackShape
    encoder_window: int
    encoder_filters: int
    encoder_codebook_dim: int


@dataclass(frozen=True)
class Shape:
    """Everything that tells one checkpoint's dimensions from another's."""

    name: str
    dtype: torch.dtype
    codebook_size: int
    text_vocab: int
    text_hidden: int
    last_byte_pair: int | None
    talker: StackShape
    mrope_section: tuple[int, ...]
    predictor: StackShape
    codec: Codec
    speaker: SpeakerShape = field(default_factory=SpeakerShape)


def shape_of(size: str, variant: str) -> Shape:
    """The dimensions of one size. Raises ValueError for a size that was never published for the variant."""
    if size == "0.6b" and variant == "voice_design":
        raise ValueError("voice_design is published at 1.7b only")
    name, hidden, inter = {"0.6b": ("0b6", 1024, 3072), "1.7b": ("1b7", 2048, 6144)}[size]
    return Shape(
        name=name,
        dtype=torch.bfloat16,
        codebook_size=2048,
        text_vocab=151_936,
        text_hidden=2048,
        last_byte_pair=151_643,
        talker=StackShape(hidden, inter, layers=28, heads=16, kv_heads=8, head_dim=128),
        mrope_section=(24, 20, 20),
        predictor=StackShape(1024, 3072, layers=5, heads=16, kv_heads=8, head_dim=128),
        codec=Codec(
            decoder=StackShape(512, 1024, layers=8, heads=16, kv_heads=16, head_dim=64),
            decoder_window=72,
            decoder_dim=1536,
            latent_dim=1024,
            codebook_dim=512,
            encoder=StackShape(512, 2048, layers=8, heads=8, kv_heads=8, head_dim=64),
            encoder_window=250,
            encoder_filters=64,
            encoder_codebook_dim=256,
        ),
    )
