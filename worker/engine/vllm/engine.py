"""The vLLM engine: the talker in an unpatched vLLM, between the stages of every engine."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import psutil
import torch

from worker.engine.config_digest import configured
from worker.engine.decoder.device_lane import device_named
from worker.engine.errors import CheckpointError
from worker.engine.loading import load_parts
from worker.engine.model.config import ModelConfig, TransformerConfig
from worker.engine.profiles import PROFILES
from worker.engine.serving.admission_queue import AdmissionPace
from worker.engine.serving.chunks import chunks_on_cpu
from worker.engine.serving.engine import LaneEngine, use_threads
from worker.engine.serving.parts import StartedTalker
from worker.engine.serving.slot_queue import SlotQueue, num_spare_slots
from worker.engine.settings import VllmEngineSettings
from worker.engine.vllm.internals import StockEngine, TalkerLimits
from worker.engine.vllm.lane import VllmTalkerLane
from worker.engine.vllm.supported_versions import require_supported
from worker.engine.vllm.talker_model import VllmTalker

logger = logging.getLogger(__name__)

# vLLM's blocks on a CPU; on a GPU they are parts of one.
_BLOCK_POSITIONS = 128
# The block that vLLM keeps for itself, and one to spare.
_OWN_BLOCKS = 2
# Of the memory that is free at start. If that is too little for all slots at their longest, vLLM takes a request's
# memory away and recomputes it later.
_MEMORY_SHARE = 0.7
# A step with a prompt lasts twice as long as one without, so it waits for more prompts.
_RUNNING_PER_ARRIVAL = 4


class VllmEngine(LaneEngine):
    """`Engine` over vLLM in this process. Raises CheckpointError, and EngineNotInstalled."""

    def __init__(self, settings: VllmEngineSettings) -> None:
        if settings.slots < 1:
            raise ValueError(f"an engine needs at least one slot, not {settings.slots}")
        require_supported()
        use_threads(settings.num_threads)
        device = device_named(settings.device)
        parts = load_parts(settings, lambda config, capacity: _start_talker(settings, config, capacity, device))
        super().__init__(replace(parts, info=configured(parts.info, settings)))


def _start_talker(
    settings: VllmEngineSettings, config: ModelConfig, capacity: int, device: torch.device
) -> StartedTalker:
    began_s = time.monotonic()
    capacity = capacity // _BLOCK_POSITIONS * _BLOCK_POSITIONS
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    num_spare = num_spare_slots(settings.slots)
    num_slots = settings.slots + num_spare + settings.live_slots
    kv_bytes = _kv_bytes(config.talker.transformer, num_slots, capacity, dtype, device)
    kv_share = kv_bytes / torch.cuda.mem_get_info(device)[1] if device.type == "cuda" else None
    limits = TalkerLimits(num_slots, capacity, settings.max_step_tokens, kv_bytes, kv_share)
    engine = StockEngine(VllmTalker, settings.checkpoint, dtype, limits)
    model = engine.model
    assert isinstance(model, VllmTalker)  # noqa: S101  (it is what we registered)
    with torch.inference_mode():
        model.arena.prepare()
    logger.info("vLLM is ready", extra={"seconds": round(time.monotonic() - began_s, 1)})
    chunks = chunks_on_cpu(settings.profile)
    # On a CPU a step costs what its rows cost: waiting for further prompts would gain nothing.
    policy = PROFILES[settings.profile].admission
    pace = AdmissionPace(policy if device.type == "cuda" else replace(policy, least_together=1), _RUNNING_PER_ARRIVAL)
    slots = SlotQueue(settings.slots, num_spare, settings.live_slots)
    lane = VllmTalkerLane(engine, model.arena, slots, num_slots, chunks, pace)
    return StartedTalker(lane, settings.slots, settings.live_slots, capacity, takes_open_text=False)


def _kv_bytes(
    transformer: TransformerConfig, num_slots: int, capacity: int, dtype: torch.dtype, device: torch.device
) -> int:
    """Keys and values of all slots at their longest, or what there is memory for, at least one slot."""
    block = (
        2 * transformer.num_layers * transformer.num_kv_heads * transformer.head_dim * dtype.itemsize * _BLOCK_POSITIONS
    )
    blocks_of_slot = -(-(capacity + 1) // _BLOCK_POSITIONS)
    least, most = (blocks_of_slot + _OWN_BLOCKS) * block, (num_slots * blocks_of_slot + _OWN_BLOCKS) * block
    room = int(_MEMORY_SHARE * _free_bytes(device))
    if room < least:
        raise CheckpointError(
            f"keys and values of one slot take {least >> 20} MiB; {room >> 20} MiB may be used of what is free"
        )
    return min(most, room)


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
