"""The native engine runs its talker in torch on one device. All engines share the other stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from worker.engine.config_digest import configured
from worker.engine.cpu.runner import LENGTH_STEP, StepRunner
from worker.engine.cpu.talker_lane import EagerTalkerLane, rows_for
from worker.engine.decoder.device_lane import device_named
from worker.engine.loading import load_parts
from worker.engine.model.config import ModelConfig
from worker.engine.serving.chunks import chunks_on_cpu
from worker.engine.serving.engine import LaneEngine, use_threads
from worker.engine.serving.parts import SlotMemory, StartedTalker
from worker.engine.settings import NativeEngineSettings

# The plain path multiplies in float32, and published weights have sixteen bits.
_PLAIN_BYTES_OF_A_BYTE = 2


class NativeEngine(LaneEngine):
    """`Engine` in torch on one device. Raises CheckpointError when the checkpoint cannot be used.

    memory: the plan's input for slots and codec passes; None on a CPU.
    """

    def __init__(self, settings: NativeEngineSettings) -> None:
        if settings.slots < 1:
            raise ValueError(f"an engine needs at least one slot, not {settings.slots}")
        use_threads(settings.num_threads)
        device = device_named(settings.device)
        parts = load_parts(settings, lambda config, capacity: _start_talker(settings, config, capacity, device))
        self.memory = parts.memory
        super().__init__(replace(parts, info=configured(parts.info, settings)))


def _start_talker(
    settings: NativeEngineSettings, config: ModelConfig, capacity: int, device: torch.device
) -> StartedTalker:
    """The device decides the kind of lane."""
    capacity = capacity // LENGTH_STEP * LENGTH_STEP
    path = settings.checkpoint / "model.safetensors"
    if device.type != "cuda":
        return _plain_talker(path, config, settings, capacity, device)
    from worker.engine.cuda.capability import DevicePath, path_on, require_plain

    if path_on(device) is DevicePath.PLAIN:
        require_plain(settings)
        return _plain_talker_that_fits(path, config, settings, capacity, device)
    # Its kernels need Triton, which a machine without a GPU does not have.
    from worker.engine.cuda.talker.start import start_slot_lane

    return start_slot_lane(path, config, capacity, settings, device)


def _plain_talker(
    path: Path, config: ModelConfig, settings: NativeEngineSettings, capacity: int, device: torch.device
) -> StartedTalker:
    runner = StepRunner.load(path, config, rows_for(settings.slots, settings.few_live_slots), capacity, device)
    lane = EagerTalkerLane(runner, settings.slots, settings.few_live_slots, chunks_on_cpu(settings.profile))
    return StartedTalker(lane, settings.slots, settings.few_live_slots, capacity, takes_open_text=True)


def _plain_talker_that_fits(
    path: Path, config: ModelConfig, settings: NativeEngineSettings, capacity: int, device: torch.device
) -> StartedTalker:
    """The device's memory limits its slots. Raises CheckpointError when no slot fits."""
    from worker.engine.cuda.device_memory import total_and_free_bytes
    from worker.engine.cuda.memory_plan import bytes_per_position, share_slots

    total_bytes, free_bytes = total_and_free_bytes(device)
    # The weights are not loaded yet.
    memory = SlotMemory(
        total_bytes,
        free_bytes - _PLAIN_BYTES_OF_A_BYTE * path.stat().st_size,
        capacity,
        bytes_per_position(config, torch.float32),
    )
    plan, num_live = share_slots(
        settings.slots, settings.few_live_slots, capacity, memory.bytes_per_position, memory.free_bytes
    )
    fitting = replace(settings, slots=plan.num_slots - num_live, live_slots=num_live)
    started = _plain_talker(path, config, fitting, plan.capacity // LENGTH_STEP * LENGTH_STEP, device)
    return replace(started, slot_memory=memory)
