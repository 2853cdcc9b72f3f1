"""Which engines a run measures, in which order, and what each of them is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.bench.messages import first_audio_stage, streams_stage

GPU_STREAMS = (1, 8, 32, 64, 128, 256, 512)
CPU_STREAMS = (1, 4, 8)
FIRST_RUNNING = (0, 32)
# In codec frames of 80 ms: 5 to 15 s, and 1 to 3 s where a core has to do it.
GPU_FRAMES = (63, 188)
CPU_FRAMES = (13, 38)
_SLOTS_BESIDE = 8
_FRAME_S = 0.08


@dataclass(frozen=True, slots=True)
class Model:
    """name: as it is shown. draw_size: of random weights, for which `folder` is the place."""

    name: str
    weights: Literal["random", "small voice", "given"]
    folder: Path
    draw_size: str | None = None


@dataclass(frozen=True, slots=True)
class EngineRun:
    """weight: its part of the time that is left for it and for those behind it."""

    model: Model
    device: str
    profile: str
    precision: str
    slots: int
    streams: tuple[int, ...]
    first_running: tuple[int, ...]
    frames: tuple[int, int]
    weight: int

    @property
    def stages(self) -> tuple[str, ...]:
        return (*map(first_audio_stage, self.first_running), *map(streams_stage, self.streams))

    @property
    def request_s(self) -> tuple[float, float]:
        return round(self.frames[0] * _FRAME_S, 1), round(self.frames[1] * _FRAME_S, 1)


def plan_runs(models: Sequence[Model], device: str, precision: str, streams: tuple[int, ...]) -> list[EngineRun]:
    """On a GPU two engines a model: a small one for the wait of one, then one with as many slots as are wanted."""
    return [run for model in models for run in _runs_of(model, device, precision, streams)]


def _runs_of(model: Model, device: str, precision: str, streams: tuple[int, ...]) -> list[EngineRun]:
    if not device.startswith("cuda"):
        return [
            EngineRun(model, device, "balanced", precision, max(streams), streams, FIRST_RUNNING[:1], CPU_FRAMES, 1)
        ]
    slots = max(FIRST_RUNNING) + _SLOTS_BESIDE
    return [
        EngineRun(model, device, "latency", precision, slots, (), FIRST_RUNNING, GPU_FRAMES, 2),
        EngineRun(model, device, "throughput", precision, max(streams), streams, (), GPU_FRAMES, 3),
    ]
