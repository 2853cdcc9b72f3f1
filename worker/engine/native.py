"""The native engine: a talker of our own, in torch on one device, between the stages of every engine."""

from __future__ import annotations

from dataclasses import replace

import torch

from worker.engine.config_digest import configured
from worker.engine.cpu.runner import LENGTH_STEP, StepRunner
from worker.engine.cpu.talker_lane import EagerTalkerLane, rows_for
from worker.engine.loading import StageSettings, chunks_on_cpu, device_named, load_parts
from worker.engine.model.config import ModelConfig
from worker.engine.serving.engine import LaneEngine, use_threads
from worker.engine.serving.parts import StartedTalker
from worker.engine.settings import NativeEngineSettings


class NativeEngine(LaneEngine):
    """`Engine` in torch on one device. Raises CheckpointError when the checkpoint cannot be used."""

    def __init__(self, settings: NativeEngineSettings) -> None:
        if settings.slots < 1:
            raise ValueError(f"an engine needs at least one slot, not {settings.slots}")
        use_threads(settings.num_threads)
        device = device_named(settings.device)
        stages = StageSettings(settings.checkpoint, device, settings.profile)
        parts = load_parts(stages, lambda config, capacity: _start_talker(settings, config, capacity, device))
        super().__init__(replace(parts, info=configured(parts.info, settings)))


def _start_talker(
    settings: NativeEngineSettings, config: ModelConfig, capacity: int, device: torch.device
) -> StartedTalker:
    """The lane of the device's kind."""
    capacity = capacity // LENGTH_STEP * LENGTH_STEP
    path = settings.checkpoint / "model.safetensors"
    if device.type == "cuda":
        # Its kernels need Triton, which a machine without a GPU does not have.
        from worker.engine.cuda.talker.start import start_slot_lane

        return start_slot_lane(path, config, capacity, settings, device)
    runner = StepRunner.load(path, config, rows_for(settings.slots, settings.live_slots), capacity, device)
    lane = EagerTalkerLane(runner, settings.slots, settings.live_slots, chunks_on_cpu(settings.profile))
    return StartedTalker(lane, settings.slots, settings.live_slots, capacity, takes_open_text=True)
