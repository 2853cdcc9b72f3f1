"""Engine settings as a plain value; `worker.settings` fills it from the environment."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from worker.engine.profiles import EngineReproducibility, ServingProfile

SLOTS, GPU_SLOTS = 16, 256
"""Segments that are spoken at the same time, where nothing else is set. A GPU lowers them to what its memory holds."""

LIVE_SLOTS = 4
"""Where no plan of a GPU's memory says how many."""


_DECODER_URL = re.compile(
    r"(?P<scheme>wss?)://:(?P<token>[A-Za-z0-9_-]{32,128})@(?P<host>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])"
    r":(?P<port>[0-9]{1,5})/(?P<kind>cpu|mps|cuda)"
)


@dataclass(frozen=True, slots=True)
class DecoderAddress:
    """A decoder worker. url: without the token. kind: of its device. authorities: PEM file of those that may certify
    it; None: the system's."""

    url: str
    host: str
    port: int
    kind: str
    token: str = field(repr=False)
    authorities: Path | None = None

    @classmethod
    def parse(cls, text: str, authorities: Path | None = None) -> Self:
        """Raises ValueError, which does not hold the token."""
        match = _DECODER_URL.fullmatch(text)
        if match is None or not 0 < int(match["port"]) < 65_536:
            raise ValueError(
                "must be ws://:TOKEN@HOST:PORT/KIND, or wss://; KIND cpu, mps or cuda; TOKEN of 32 letters"
            )
        url = "{scheme}://{host}:{port}/{kind}".format_map(match.groupdict())
        return cls(url, match["host"].strip("[]"), int(match["port"]), match["kind"], match["token"], authorities)

    def __str__(self) -> str:
        return self.url


def kind_of(device: str | DecoderAddress) -> str:
    """`cpu`, `mps` or `cuda`: samples are equal bit by bit on devices of one kind at best."""
    return device.kind if isinstance(device, DecoderAddress) else device.partition(":")[0]


class Precision(enum.StrEnum):
    BFLOAT16 = "bfloat16"
    """The precision of published checkpoints."""

    FLOAT8 = "float8"
    """Half the bytes: four bits of exponent, three of fraction (e4m3)."""


@dataclass(frozen=True, slots=True)
class NativeEngineSettings:
    """The torch engine on one device.

    checkpoint: directory in the published Qwen3-TTS 12 Hz layout.
    slots: requests that run at the same time. live_slots: extra slots for live speech; None: on a GPU
        what its memory allows, else `few_live_slots`.
    num_threads: torch intra-op threads on the CPU; 0 takes half of the usable cores. The codec needs the others.
    profile: trade-off between latency and throughput. On a CPU it sets only the length of a stream's first chunk.
    reproducibility: for a GPU. On a CPU, one thread rounds each row alike; with more, rounding depends on the batch.
    kv_precision, mlp_precision: of the talker's cache, and of its MLPs in large batches; for a GPU.
    decoder_devices: each runs a decoder process of the codec, or is a decoder worker; if empty, the decoder runs in
        the engine's process.
    """

    checkpoint: Path
    slots: int = SLOTS
    live_slots: int | None = LIVE_SLOTS
    device: str = "cpu"
    num_threads: int = 0
    profile: ServingProfile = ServingProfile.BALANCED
    reproducibility: EngineReproducibility = EngineReproducibility.BEST_EFFORT
    kv_precision: Precision = Precision.BFLOAT16
    mlp_precision: Precision = Precision.BFLOAT16
    decoder_devices: tuple[str | DecoderAddress, ...] = ()

    @property
    def few_live_slots(self) -> int:
        """Also of a GPU that is `strict`: there every step computes all rows, whether they are taken or not."""
        return LIVE_SLOTS if self.live_slots is None else self.live_slots


@dataclass(frozen=True, slots=True)
class FakeEngineSettings:
    """Deterministic tones without torch, to test the code around the engine.

    step_s: wall seconds per codec frame step. Tests inject faults during a step.
    """

    slots: int = SLOTS
    live_slots: int = LIVE_SLOTS
    step_s: float = 0.005


@dataclass(frozen=True, slots=True)
class VllmEngineSettings:
    """The talker runs in a stock vLLM; the other stages are those of the native engine.

    checkpoint, slots, live_slots, num_threads, profile, decoder_devices: as in `NativeEngineSettings`.
    max_step_tokens: rows of prompts and frames in one pass of the talker; longer prompts are split.
    """

    checkpoint: Path
    slots: int = SLOTS
    live_slots: int = LIVE_SLOTS
    device: str = "cpu"
    num_threads: int = 0
    profile: ServingProfile = ServingProfile.BALANCED
    max_step_tokens: int = 1024
    decoder_devices: tuple[str | DecoderAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class KokoroEngineSettings:
    """Kokoro-82M on CPU cores.

    checkpoint: folder of its voices. slots, live_slots: concurrent calls; each uses one core.
    """

    checkpoint: Path
    slots: int = 2
    live_slots: int = 1


EngineSettings = NativeEngineSettings | VllmEngineSettings | KokoroEngineSettings | FakeEngineSettings
