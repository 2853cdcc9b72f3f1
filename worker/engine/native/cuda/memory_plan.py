"""How many slots fit: planned once, from the memory that is free when the weights are loaded."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import torch

from worker.engine.errors import CheckpointError
from worker.engine.native.model.config import ModelConfig

logger = logging.getLogger(__name__)

# For what is not slots: the graphs' intermediate values, passes over prompts, and the decoder beside the talker.
_SHARE_FOR_SLOTS = 0.7
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Slots of `capacity` positions each."""

    num_slots: int
    capacity: int
    bytes_per_slot: int


def plan_slots(wanted: int, capacity: int, bytes_per_slot: int, free_bytes: int) -> MemoryPlan:
    """As many slots as are wanted and fit. Raises CheckpointError when there is not room for one."""
    fitting = int(free_bytes * _SHARE_FOR_SLOTS) // bytes_per_slot
    if fitting < 1:
        raise CheckpointError(
            f"one slot of {capacity} positions takes {bytes_per_slot / _GIB:.2f} GiB, and of {free_bytes / _GIB:.2f} "
            f"GiB that are free beside the weights {_SHARE_FOR_SLOTS:.0%} may be slots"
        )
    plan = MemoryPlan(min(wanted, fitting), capacity, bytes_per_slot)
    logger.info(
        "planned the slots",
        extra={
            "slots": plan.num_slots,
            "wanted": wanted,
            "positions": capacity,
            "gib": round(plan.num_slots * bytes_per_slot / _GIB, 2),
            "free_gib": round(free_bytes / _GIB, 2),
        },
    )
    return plan


def bytes_per_slot(config: ModelConfig, capacity: int, dtype: torch.dtype) -> int:
    """Keys and values of all layers, and what else a slot has per position."""
    decoder = config.talker.decoder
    per_position = 2 * decoder.num_layers * decoder.num_kv_heads * decoder.head_dim * dtype.itemsize
    return capacity * (per_position + torch.int32.itemsize)
