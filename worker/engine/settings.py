"""Engine settings as a plain value; `worker.settings` fills it from the environment."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from worker.engine.profiles import EngineReproducibility, ServingProfile

LIVE_SLOTS = 4
"""Where no plan of a GPU's memory says how many."""


class Precision(enum.StrEnum):
    BFLOAT16 = "bfloat16"
    """As checkpoints are published."""

    FLOAT8 = "float8"
    """Half the bytes: four bits of exponent, three of fraction (e4m3)."""


@dataclass(frozen=True, slots=True)
class NativeEngineSettings:
    """The torch engine on one device.

    checkpoint: directory in the published Qwen3-TTS 12 Hz layout.
    slots: requests that run at the same time. live_slots: of live speech, beside them; None: on a GPU what
        its memory allows, else `few_live_slots`.
    num_threads: torch intra-op threads on the CPU; 0 takes half of the cores this process may use, because the codec
        runs beside the talker and more threads than cores cost a multiple of what they bring.
    profile, reproducibility: of an engine on a GPU; on a CPU every frame is read back at once and, with one thread,
        rows round alike anyway (with more, torch's attention rounds by the number of rows), so that of the profile
        only the length of a stream's first chunk is left.
    kv_precision, mlp_precision: of the talker's cache and of its MLPs where many rows go through them; on a GPU.
    decoder_devices: a process with the codec's decoder on each; without any, the decoder is in the engine's process.
    """

    checkpoint: Path
    slots: int = 16
    live_slots: int | None = LIVE_SLOTS
    device: str = "cpu"
    num_threads: int = 0
    profile: ServingProfile = ServingProfile.BALANCED
    reproducibility: EngineReproducibility = EngineReproducibility.BEST_EFFORT
    kv_precision: Precision = Precision.BFLOAT16
    mlp_precision: Precision = Precision.BFLOAT16
    decoder_devices: tuple[str, ...] = ()

    @property
    def few_live_slots(self) -> int:
        """Also of a GPU that is `strict`: there every step computes all rows, whether they are taken or not."""
        return LIVE_SLOTS if self.live_slots is None else self.live_slots


@dataclass(frozen=True, slots=True)
class FakeEngineSettings:
    """Deterministic tones without torch, for tests of everything around the engine.

    step_s: wall seconds per codec frame step, so that faults can strike in the middle.
    """

    slots: int = 16
    live_slots: int = LIVE_SLOTS
    step_s: float = 0.005


@dataclass(frozen=True, slots=True)
class VllmEngineSettings:
    """The talker in a stock vLLM, the other stages as in the native engine.

    checkpoint, slots, live_slots, num_threads, profile, decoder_devices: as `NativeEngineSettings` has them.
    max_step_tokens: rows of prompts and frames in one pass of the talker; prompts that are longer are divided.
    """

    checkpoint: Path
    slots: int = 16
    live_slots: int = LIVE_SLOTS
    device: str = "cpu"
    num_threads: int = 0
    profile: ServingProfile = ServingProfile.BALANCED
    max_step_tokens: int = 1024
    decoder_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KokoroEngineSettings:
    """Kokoro-82M on CPU cores.

    checkpoint: folder of its voices. slots, live_slots: calls at the same time, each of which keeps a core busy.
    """

    checkpoint: Path
    slots: int = 2
    live_slots: int = 1


EngineSettings = NativeEngineSettings | VllmEngineSettings | KokoroEngineSettings | FakeEngineSettings
