"""Which model is loaded in the place of another, and that the two do not take turns for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.lifecycle.swap_choice import IDLE_S, IDLE_STAY_COSTS, STAY_COSTS, ModelQueue, OwnModel, choose

IDLE = OwnModel(served_s=1_000, cost_s=10, idle_s=60, has_others=False)
BUSY = replace(IDLE, idle_s=0)
UNSERVED = ModelQueue("b", ready_items=1, slots=0, backlog_s=5, pace=0, oldest_wait_s=20)
BEHIND = ModelQueue("c", ready_items=400, slots=64, backlog_s=60_000, pace=100, oldest_wait_s=3)


@pytest.mark.parametrize(
    ("own", "others", "choice"),
    [
        (IDLE, (UNSERVED,), "b"),
        (IDLE, (BEHIND,), "c"),
        (IDLE, (BEHIND, UNSERVED), "b"),
        (IDLE, (UNSERVED, replace(UNSERVED, model="d", oldest_wait_s=40)), "d"),
        (IDLE, (replace(BEHIND, backlog_s=29_000),), None),
        (IDLE, (replace(BEHIND, pace=0),), None),
        (IDLE, (replace(UNSERVED, ready_items=0),), None),
        (IDLE, (replace(UNSERVED, oldest_wait_s=10),), None),
        (IDLE, (), None),
        (replace(IDLE, idle_s=10), (UNSERVED,), None),
        (BUSY, (UNSERVED, BEHIND), None),
        (BUSY, (replace(UNSERVED, oldest_wait_s=901),), "b"),
        (replace(BUSY, has_others=True), (UNSERVED,), "b"),
        (replace(BUSY, has_others=True), (BEHIND,), None),
        (replace(IDLE, served_s=19), (UNSERVED,), None),
        (replace(BUSY, served_s=89), (replace(UNSERVED, oldest_wait_s=901),), None),
        # Where loading is dear, workers have to be behind by more.
        (replace(IDLE, cost_s=200), (BEHIND,), None),
    ],
)
def test_what_is_loaded(own: OwnModel, others: tuple[ModelQueue, ...], choice: str | None) -> None:
    assert choose(own, others) == choice


@given(
    cost_s=st.floats(1, 120),
    arrivals=st.lists(st.tuples(st.integers(0, 7_000), st.sampled_from("ab"), st.integers(1, 600)), max_size=60),
)
@settings(max_examples=examples(60), deadline=None)
def test_one_worker_of_two_models_serves_both_and_spends_little_of_its_time_on_the_way(
    cost_s: float, arrivals: list[tuple[int, str, int]]
) -> None:
    """Played second by second: work of so many seconds comes for either model at any time."""
    left = {"a": 0.0, "b": 0.0}
    since: dict[str, int | None] = {"a": None, "b": None}
    model, ready_s, idle_since_s, cost, swaps, busy_swaps = "a", 0.0, 0.0, 0.0, 0, 0
    comes = sorted(arrivals)
    now_s = 0
    while comes or any(left.values()):
        assert now_s < 200_000, "something was never served"
        while comes and comes[0][0] <= now_s:
            _, of, work_s = comes.pop(0)
            left[of] += work_s
            since[of] = now_s if since[of] is None else since[of]
        if now_s >= ready_s:
            if left[model]:
                left[model] = max(0.0, left[model] - 1)
                since[model] = now_s if left[model] else None
                idle_since_s = now_s
            own = OwnModel(now_s - ready_s, cost, now_s - idle_since_s, has_others=False)
            other = "b" if model == "a" else "a"
            began_s = since[other]
            waited_s = 0 if began_s is None else now_s - began_s
            if choose(own, [ModelQueue(other, int(left[other] > 0), 0, left[other], 1, waited_s)]):
                swaps, busy_swaps = swaps + 1, busy_swaps + (own.idle_s < IDLE_S)
                model, cost = other, cost_s
                ready_s = idle_since_s = now_s + cost_s
        now_s += 1

    idle_swaps = swaps - busy_swaps
    least_s = ((busy_swaps - 1) * (1 + STAY_COSTS) + (idle_swaps - 1) * (1 + IDLE_STAY_COSTS)) * cost_s
    assert now_s + cost_s >= least_s
