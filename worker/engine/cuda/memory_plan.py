"""How many slots fit: planned once, from the memory that is free when the weights are loaded.

Without torch at run time: the command line plans for a GPU, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker.engine.errors import CheckpointError
from worker.engine.settings import LIVE_SLOTS

if TYPE_CHECKING:
    import torch

    from worker.engine.model.config import ModelConfig
    from worker.engine.serving.parts import DeviceMemory

# For what is not slots: the graphs' intermediate values, passes over prompts, and the codec beside the talker.
_SHARE_FOR_SLOTS = 0.7
# 82 s of speech and prompt together: room for five ordinary segments.
_LEAST_POSITIONS = 1024
_BYTES_OF_ID = 4
_GIB = 1 << 30

MOST_LIVE_SLOTS = 256
"""Streams that an H100 and an H200 were measured with, the 1.7B model, at up to 100 requests a second."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Slots of `capacity` positions each."""

    num_slots: int
    capacity: int


def plan_slots(wanted: int, capacity: int, bytes_per_position: int, free_bytes: int) -> MemoryPlan:
    """As many slots as are wanted and fit, of `capacity` positions, or of half as many where only then all fit.

    Raises CheckpointError when there is not room for one.
    """
    room = _room(bytes_per_position, free_bytes)
    positions = capacity if wanted * capacity <= room or capacity <= _LEAST_POSITIONS else capacity // 2
    if room < positions:
        raise CheckpointError(
            f"one slot of {positions} positions takes {positions * bytes_per_position / _GIB:.2f} GiB, and of "
            f"{free_bytes / _GIB:.2f} GiB that are free beside the weights {_SHARE_FOR_SLOTS:.0%} may be slots"
        )
    return MemoryPlan(min(wanted, room // positions), positions)


def share_slots(
    slots: int, live_slots: int | None, capacity: int, bytes_per_position: int, free_bytes: int
) -> tuple[MemoryPlan, int]:
    """The plan of all slots, and how many of them are for live speech.

    live_slots: None takes what `slots` leave, up to `MOST_LIVE_SLOTS`, and a fifth of all if not all fit.
    Raises CheckpointError when there is not room for one slot.
    """
    if live_slots is not None:
        plan = plan_slots(slots + live_slots, capacity, bytes_per_position, free_bytes)
        return plan, min(live_slots, plan.num_slots // 2)
    wanted = slots + min(MOST_LIVE_SLOTS, max(LIVE_SLOTS, slots))
    plan = plan_slots(wanted, capacity, bytes_per_position, free_bytes)
    least = max(plan.num_slots // 5, min(LIVE_SLOTS, plan.num_slots // 2))
    for_jobs = min(slots, plan.num_slots - least)
    num_live = min(MOST_LIVE_SLOTS, _room(bytes_per_position, free_bytes) // plan.capacity - for_jobs)
    return MemoryPlan(for_jobs + num_live, plan.capacity), num_live


def _room(bytes_per_position: int, free_bytes: int) -> int:
    """Positions of all slots together."""
    return max(0, int(free_bytes * _SHARE_FOR_SLOTS)) // bytes_per_position


def plan_slots_of_card(total_bytes: int, wanted: int, here: DeviceMemory) -> MemoryPlan:
    """The plan of an engine on a card of another size, with the codec that is planned for it.

    Raises CheckpointError when there is not room for one.
    """
    free_bytes = total_bytes - here.beside_slots(total_bytes)
    return plan_slots(wanted, here.slots.capacity, here.slots.bytes_per_position, free_bytes)


def bytes_per_position(config: ModelConfig, dtype: torch.dtype) -> int:
    """Keys and values of all layers, and one text id."""
    transformer = config.talker.transformer
    keys_and_values = 2 * transformer.num_layers * transformer.num_kv_heads * transformer.head_dim * dtype.itemsize
    return keys_and_values + _BYTES_OF_ID
