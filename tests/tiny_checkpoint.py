"""A checkpoint with random weights that is the same on every machine, for tests and recorded fixtures.

The tiny size keeps the topology of the published ones in three megabytes of float32: 16 codebooks, 1,024 control ids
above the codebook, 1,920 samples a frame, short windows.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from worker.engine.random_checkpoint.directory import write_checkpoint, write_json
from worker.engine.random_checkpoint.shapes import Codec, Shape, SpeakerShape, StackShape, shape_of


def make_checkpoint(out: Path, size: str = "tiny", variant: str = "base", seed: int = 0, eos_gain: float = 1.0) -> str:
    """Write the directory; gives a digest of its weights, the same on every machine.

    eos_gain scales the end-of-speech row of the codec head: larger values end utterances sooner, 0 never.
    """
    shape = tiny_shape(variant) if size == "tiny" else shape_of(size, variant)
    tensors = write_checkpoint(out, shape, variant, RepeatableDraws(seed), eos_gain)
    if size == "tiny" and variant == "base":
        describe_speaker_encoder(out / "config.json", shape.speaker)
    return digest_of(*tensors)


def describe_speaker_encoder(file: Path, speaker: SpeakerShape) -> None:
    """Adds the dimensions, which a published file need not name."""
    config = json.loads(file.read_text(encoding="utf-8"))
    config["speaker_encoder_config"] |= {
        "enc_channels": list(speaker.channels),
        "enc_attention_channels": speaker.attention_channels,
        "enc_res2net_scale": speaker.res2net_scale,
        "enc_se_channels": speaker.se_channels,
    }
    write_json(file, config)


def digest_of(*groups: Mapping[str, Tensor]) -> str:
    """SHA-256 over names and bytes, independent of how a file orders them."""
    digest = hashlib.sha256()
    for group in groups:
        for name in sorted(group):
            digest.update(name.encode())
            digest.update(group[name].contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


class RepeatableDraws:
    """The same on every machine: a generator for each name, and no logarithm whose last bit differs."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, name: str, shape: tuple[int, ...]) -> Tensor:
        generator = np.random.Generator(np.random.PCG64([zlib.crc32(name.encode()), self._seed]))
        return torch.from_numpy(generator.random(shape, dtype=np.float32))


def tiny_shape(variant: str) -> Shape:
    """Base stands for 0.6B (predictor as wide as the talker, so no projection), the other two for 1.7B."""
    shape = Shape(
        name="1b7",
        dtype=torch.float32,
        codebook_size=64,
        text_vocab=336,
        text_hidden=48,
        last_byte_pair=None,
        # 32 is the narrowest attention head that the CPU kernels of other engines take.
        talker=StackShape(64, 128, layers=3, heads=4, kv_heads=2, head_dim=32),
        mrope_section=(8, 4, 4),
        predictor=StackShape(32, 64, layers=2, heads=4, kv_heads=2, head_dim=16),
        codec=Codec(
            decoder=StackShape(32, 64, layers=2, heads=4, kv_heads=4, head_dim=16),
            decoder_window=16,
            decoder_dim=64,
            latent_dim=48,
            codebook_dim=32,
            encoder=StackShape(32, 64, layers=2, heads=2, kv_heads=2, head_dim=16),
            encoder_window=20,
            encoder_filters=4,
            encoder_codebook_dim=16,
        ),
        speaker=SpeakerShape((32, 32, 32, 32, 96), attention_channels=16, res2net_scale=8, se_channels=16),
    )
    if variant == "base":
        return replace(shape, name="0b6", predictor=replace(shape.predictor, hidden=shape.talker.hidden))
    return shape
