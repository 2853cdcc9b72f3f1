"""Every size of the small voice, and the ids of its control tokens."""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1_920
FRAMES_PER_SECOND = 12.5
PHONE_HOP = 480
"""Samples of one phone label: four of them per frame."""
LABELS_PER_FRAME = SAMPLES_PER_FRAME // PHONE_HOP


@dataclass(frozen=True, slots=True)
class CodecDimensions:
    """The decoder of the published architecture, small. A code vector has `codebook_dim // 2` entries."""

    codebook_size: int = 512
    num_quantizers: int = 12
    codebook_dim: int = 192
    latent_dim: int = 192
    hidden_size: int = 192
    num_heads: int = 6
    head_dim: int = 32
    intermediate_size: int = 512
    num_layers: int = 3
    sliding_window: int = 72
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5
    layer_scale: float = 0.1
    upsampling_ratios: tuple[int, ...] = (2, 2)
    upsample_rates: tuple[int, ...] = (8, 5, 4, 3)
    decoder_dim: int = 288

    @property
    def vector_dim(self) -> int:
        return self.codebook_dim // 2


@dataclass(frozen=True, slots=True)
class StackDimensions:
    """One stack of Qwen3 decoder layers."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-6


@dataclass(frozen=True, slots=True)
class TalkerDimensions:
    stack: StackDimensions = StackDimensions(320, 896, 7, 4, 2, 64)
    predictor: StackDimensions = StackDimensions(256, 640, 3, 4, 2, 64)
    text_vocab_size: int = 1024
    text_hidden_size: int = 256
    codebook_size: int = 512
    num_codebooks: int = 12

    @property
    def vocab_size(self) -> int:
        return self.codebook_size + CONTROL_ROWS


CODEC = CodecDimensions()
TALKER = TalkerDimensions()

CONTROL_ROWS = 1024
"""The published talker suppresses the last 1024 rows of its vocabulary, the end excepted."""

CONTROL_OFFSETS = {
    "pad": 0,
    "bos": 1,
    "eos": 2,
    "think": 3,
    "nothink": 4,
    "think_bos": 5,
    "think_eos": 6,
    "english": 10,
    "first_speaker": 20,
}
"""Rows of the talker's vocabulary, counted from the end of codebook 0."""

SPEAKERS = ("slt", "rms")
"""In the order of their rows: a woman (festival us_slt HTS) and a man (flite rms)."""

PHONES = (
    "pau",
    "aa",
    "ae",
    "ah",
    "ao",
    "aw",
    "ax",
    "ay",
    "b",
    "ch",
    "d",
    "dh",
    "eh",
    "er",
    "ey",
    "f",
    "g",
    "hh",
    "ih",
    "iy",
    "jh",
    "k",
    "l",
    "m",
    "n",
    "ng",
    "ow",
    "oy",
    "p",
    "r",
    "s",
    "sh",
    "t",
    "th",
    "uh",
    "uw",
    "v",
    "w",
    "y",
    "z",
    "zh",
    "axr",
    "el",
    "em",
    "en",
    "dx",
    "nx",
    "ix",
)

SPLITS = ("train", "heldout", "harvard", "everyday", "test")
"""Only the first is trained on."""


def control_id(name: str) -> int:
    return TALKER.codebook_size + CONTROL_OFFSETS[name]
