"""Shapes and memory that an engine on a GPU is started with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.engine.cuda.memory_plan import MOST_LIVE_SLOTS, MemoryPlan, plan_slots, plan_slots_of_card, share_slots
from worker.engine.cuda.talker.capture_plan import capture_plan
from worker.engine.cuda.talker.prefill.pack import SlotAdmission, pack_prompts, padded_places
from worker.engine.errors import CheckpointError
from worker.engine.interface import SamplingParams
from worker.engine.profiles import EngineReproducibility
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.parts import DeviceMemory, SlotMemory
from worker.engine.settings import GPU_SLOTS

CAPACITY = 2048


def admission(slot: int, rows: int) -> SlotAdmission:
    ids = np.zeros(rows, dtype=np.int64)
    return SlotAdmission(slot, RequestState(str(slot), PromptLayout(ids, ids, ids[:0], 1), SamplingParams(), 0, 10))


lengths = st.lists(st.integers(1, CAPACITY), min_size=1, max_size=20)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(lengths=lengths, reproducibility=st.sampled_from(EngineReproducibility))
def test_every_prompt_is_in_one_pass_that_holds_it(lengths: list[int], reproducibility: EngineReproducibility) -> None:
    plan = capture_plan(256, CAPACITY, reproducibility)
    admissions = [admission(slot, rows) for slot, rows in enumerate(lengths)]

    groups = plan.groups(admissions)

    assert sorted(a.slot for group in groups for a in group.admissions) == list(range(len(lengths)))
    for group in groups:
        assert group.num_tokens in plan.token_buckets
        assert sum(a.prefill_rows for a in group.admissions) <= group.num_tokens


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(lengths=lengths, rows=st.integers(1, CAPACITY))
def test_in_strict_mode_a_prompts_pass_depends_on_its_own_length_alone(lengths: list[int], rows: int) -> None:
    plan = capture_plan(256, CAPACITY, EngineReproducibility.STRICT)

    (alone,) = plan.groups([admission(99, rows)])
    together = plan.groups([admission(99, rows), *[admission(slot, other) for slot, other in enumerate(lengths)]])

    (own,) = [group for group in together if any(a.slot == 99 for a in group.admissions)]
    assert own.num_tokens == alone.num_tokens


def test_a_step_runs_in_the_smallest_bucket_that_holds_its_rows() -> None:
    plan = capture_plan(200, CAPACITY, EngineReproducibility.BEST_EFFORT)

    assert [plan.rows_for(rows) for rows in (1, 3, 65, 192, 193, 200)] == [1, 4, 96, 192, 200, 200]


def test_in_strict_mode_there_is_one_bucket() -> None:
    plan = capture_plan(200, CAPACITY, EngineReproducibility.STRICT)

    assert [plan.rows_for(rows) for rows in (1, 200)] == [200, 200]


def test_only_passes_beside_running_streams_are_captured_and_in_strict_mode_none() -> None:
    quick = capture_plan(200, CAPACITY, EngineReproducibility.BEST_EFFORT)

    assert quick.captured_tokens == tuple(range(128, 1025, 128))
    assert set(quick.captured_tokens) < set(quick.token_buckets)
    assert capture_plan(200, CAPACITY, EngineReproducibility.STRICT).captured_tokens == ()


def test_places_of_a_captured_pass_say_what_the_prompts_say_and_nothing_of_the_rest() -> None:
    prompts = pack_prompts([admission(7, 4), admission(2, 1), admission(5, 3)], num_tokens=8, scratch_slot=9, pad_id=1)

    places = padded_places(prompts, num_tokens=12, num_prompts=5, scratch_slot=9)

    token_slots, token_positions, slots, starts = np.split(places, (12, 24, 29))
    assert token_slots.tolist() == [7, 7, 7, 5, 5, *[9] * 7]
    assert token_positions.tolist() == [0, 1, 2, 0, 1, *[0] * 7]
    assert slots.tolist() == [7, 2, 5, 9, 9]
    assert starts.tolist() == [0, 3, 3, 5, 5, 5]


def test_slots_have_all_their_positions_where_there_is_room() -> None:
    assert plan_slots(16, CAPACITY, 1, free_bytes=100 * CAPACITY) == MemoryPlan(16, CAPACITY)


def test_slots_have_half_the_positions_where_only_then_all_fit() -> None:
    assert plan_slots(100, CAPACITY, 1, free_bytes=100 * CAPACITY) == MemoryPlan(100, CAPACITY // 2)


def test_slots_are_as_many_as_fit() -> None:
    assert plan_slots(256, CAPACITY, 1, free_bytes=100 * CAPACITY) == MemoryPlan(140, CAPACITY // 2)


def test_short_slots_are_not_halved() -> None:
    assert plan_slots(256, 512, 1, free_bytes=100 * 512) == MemoryPlan(70, 512)


def test_a_device_without_room_for_one_slot_is_refused() -> None:
    with pytest.raises(CheckpointError, match="one slot of 1024 positions"):
        plan_slots(16, CAPACITY, 1, free_bytes=1024)


def test_a_device_with_less_than_nothing_left_is_refused() -> None:
    with pytest.raises(CheckpointError, match="one slot of 1024 positions"):
        plan_slots(16, CAPACITY, 1, free_bytes=-5)


GIB = 1 << 30
BYTES_OF_17B = 114_692
"""Of a position of the published 1.7B model with its cache in 16 bits."""


def eighth(total_bytes: int) -> int:
    """What the codec takes."""
    return total_bytes // 8


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(
    card_gib=st.floats(6, 200),
    beside_gib=st.floats(10.5, 14),
    wanted=st.integers(1, 1024),
    bytes_per_position=st.sampled_from((BYTES_OF_17B, BYTES_OF_17B // 2)),
)
def test_what_is_planned_for_a_card_fits_beside_the_weights(
    card_gib: float, beside_gib: float, wanted: int, bytes_per_position: int
) -> None:
    total, beside = int(card_gib * GIB), int(beside_gib * GIB)
    here = DeviceMemory(SlotMemory(80 * GIB, 80 * GIB - beside, CAPACITY, bytes_per_position), eighth)

    plan = plan_slots_of_card(total, wanted, here)

    assert 1 <= plan.num_slots <= wanted
    assert plan.capacity in {CAPACITY, CAPACITY // 2}
    beside_there = beside - eighth(80 * GIB) + eighth(total)
    assert plan.num_slots * plan.capacity * bytes_per_position + beside_there <= total
    assert plan_slots_of_card(total + GIB, wanted, here).num_slots >= plan.num_slots


CARDS = {8: (7, 4, 7, 4), 24: (81, 20, 16, 34), 80: (256, 159, 16, 191), 141: (256, 256, 16, 256)}
"""GiB of a card -> slots of jobs and of live speech of the 1.7B model with nothing set; the same with 16 slots set."""


@pytest.mark.parametrize("gib", CARDS)
def test_live_slots_are_what_jobs_leave_on_a_card(gib: int) -> None:
    free = gib * GIB * 7 // 8 - 5_530_000_000

    plan, num_live = share_slots(GPU_SLOTS, None, CAPACITY, BYTES_OF_17B, free)
    given, num_live_given = share_slots(16, None, CAPACITY, BYTES_OF_17B, free)

    planned = (plan.num_slots - num_live, num_live, given.num_slots - num_live_given, num_live_given)
    assert planned == CARDS[gib]


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(slots=st.integers(1, 1024), room=st.integers(1, 2_000 * CAPACITY))
def test_unset_live_slots_cost_jobs_a_fifth_at_most(slots: int, room: int) -> None:
    free_bytes = room * 10 // 7 + CAPACITY

    few, num_few = share_slots(slots, 4, CAPACITY, 1, free_bytes)
    plan, num_live = share_slots(slots, None, CAPACITY, 1, free_bytes)

    num_jobs = plan.num_slots - num_live
    assert num_jobs == slots or num_live >= num_jobs // 5
    assert num_jobs >= (few.num_slots - num_few) * 4 // 5 - 1
    assert num_few <= num_live <= MOST_LIVE_SLOTS
    assert plan.num_slots * plan.capacity <= free_bytes * 0.7


def test_live_slots_that_somebody_sets_stay() -> None:
    assert share_slots(16, 2, CAPACITY, 1, 100 * CAPACITY) == (MemoryPlan(18, CAPACITY), 2)
    assert share_slots(16, 0, CAPACITY, 1, 100 * CAPACITY) == (MemoryPlan(16, CAPACITY), 0)


def test_a_card_of_the_same_size_has_the_plan_of_this_one() -> None:
    here = DeviceMemory(SlotMemory(24 * GIB, 18 * GIB, CAPACITY, BYTES_OF_17B), eighth)

    assert plan_slots_of_card(24 * GIB, 512, here) == plan_slots(512, CAPACITY, BYTES_OF_17B, 18 * GIB)


def test_a_card_that_the_weights_fill_is_refused() -> None:
    here = DeviceMemory(SlotMemory(80 * GIB, 64 * GIB, CAPACITY, BYTES_OF_17B), eighth)

    with pytest.raises(CheckpointError, match="one slot of 1024 positions"):
        plan_slots_of_card(5 * GIB, 16, here)
