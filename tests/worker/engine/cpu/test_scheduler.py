from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worker.engine.cpu.scheduler import Scheduler
from worker.engine.interface import SamplingParams, Urgency
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd

ROWS = 3


def request(name: str, prompt_rows: int = 4, urgency: Urgency = Urgency.BULK) -> RequestState:
    ids = np.zeros(prompt_rows, dtype=np.int64)
    return RequestState(name, PromptLayout(ids, ids, ids[:0], prompt_rows), SamplingParams(), 0, 10, urgency=urgency)


def names(scheduler: Scheduler) -> list[str]:
    plan = scheduler.plan(0.0)
    return [] if plan is None else [row.request_id for row in plan.rows]


def test_nothing_to_run_is_no_plan() -> None:
    assert Scheduler(ROWS, 0, 0, 100).plan(0.0) is None


def test_requests_take_free_rows_in_the_order_they_came() -> None:
    scheduler = Scheduler(ROWS, 0, 0, 100)
    for name in "abcd":
        scheduler.add(request(name))

    assert names(scheduler) == ["a", "b", "c"]
    assert scheduler.num_waiting == 1


def test_somebody_who_waits_goes_before_what_can_wait() -> None:
    scheduler = Scheduler(2, 0, 0, 100)
    for name, urgency in (("a", Urgency.BULK), ("b", Urgency.BULK), ("c", Urgency.INTERACTIVE)):
        scheduler.add(request(name, urgency=urgency))

    assert names(scheduler) == ["c", "a"]


def test_spare_rows_are_for_those_somebody_waits_for() -> None:
    scheduler = Scheduler(2, 1, 0, 100)
    for name in "abc":
        scheduler.add(request(name))
    scheduler.plan(0.0)
    for name in "de":
        scheduler.add(request(name, urgency=Urgency.INTERACTIVE))

    plan = scheduler.plan(0.0)
    assert plan is not None
    assert [row.request_id for row in plan.rows] == ["a", "b", "d"]
    scheduler.commit(plan, [RowEnd.EOS, RowEnd.RUNNING, RowEnd.RUNNING])
    plan = scheduler.plan(0.0)
    assert plan is not None
    assert [row.request_id for row in plan.rows] == ["e", "b", "d"]
    scheduler.commit(plan, [RowEnd.RUNNING, RowEnd.EOS, RowEnd.RUNNING])

    assert names(scheduler) == ["e", "c", "d"], "the spare row is still taken, and this one is anybody's"


def test_a_waiting_request_takes_the_row_that_falls_free() -> None:
    scheduler = Scheduler(ROWS, 0, 0, 100)
    for name in "abcd":
        scheduler.add(request(name))
    plan = scheduler.plan(0.0)
    assert plan is not None
    scheduler.commit(plan, [RowEnd.RUNNING, RowEnd.EOS, RowEnd.RUNNING])

    following = scheduler.plan(0.0)

    assert following is not None
    assert [row.request_id for row in following.rows] == ["a", "d", "c"]
    assert [(admission.row, admission.request.request_id) for admission in following.admissions] == [(1, "d")]
    assert following.moves == ()


def test_the_last_row_moves_into_a_gap_that_nobody_waits_for() -> None:
    scheduler = Scheduler(ROWS, 0, 0, 100)
    for name in "abc":
        scheduler.add(request(name))
    plan = scheduler.plan(0.0)
    assert plan is not None
    scheduler.commit(plan, [RowEnd.LENGTH, RowEnd.RUNNING, RowEnd.RUNNING])

    following = scheduler.plan(0.0)

    assert following is not None
    assert [row.request_id for row in following.rows] == ["c", "b"]
    assert [(move.source, move.target, move.length) for move in following.moves] == [(2, 0, 5)]


def test_prompts_beyond_the_budget_wait_for_the_next_frame_but_one_always_goes() -> None:
    scheduler = Scheduler(ROWS, 0, 0, 10)
    for name, prompt_rows in (("huge", 50), ("small", 4), ("more", 4)):
        scheduler.add(request(name, prompt_rows))

    assert names(scheduler) == ["huge"]
    assert names(scheduler) == ["huge", "small", "more"]


def test_a_cancelled_request_is_in_no_later_plan() -> None:
    scheduler = Scheduler(2, 0, 0, 100)
    requests = [request(name) for name in "abc"]
    for one in requests:
        scheduler.add(one)
    scheduler.plan(0.0)

    scheduler.cancel(requests[0])
    scheduler.cancel(requests[2])
    scheduler.cancel(request("stranger"))

    assert names(scheduler) == ["b"]


@given(
    steps=st.lists(
        st.tuples(
            st.lists(st.sampled_from((Urgency.INTERACTIVE, Urgency.BULK)), max_size=3),
            st.lists(st.sampled_from(RowEnd), min_size=ROWS + 1, max_size=ROWS + 1),
            st.integers(0, 20),
        ),
        max_size=30,
    )
)
def test_rows_stay_dense_and_none_is_lost_or_doubled(steps: list[tuple[list[Urgency], list[RowEnd], int]]) -> None:
    scheduler = Scheduler(ROWS, 1, 0, 9)
    rows: dict[int, RequestState] = {}
    alive: list[RequestState] = []
    for urgencies, ends, cancelled in steps:
        arrivals = [request("r", urgency=urgency) for urgency in urgencies]
        alive += arrivals
        for arrival in arrivals:
            scheduler.add(arrival)
        if cancelled < len(alive):
            scheduler.cancel(alive[cancelled])
            del alive[cancelled]
        plan = scheduler.plan(0.0)
        if plan is None:
            assert not alive
            continue
        # The device's rows, as the runner would keep them.
        for admission in plan.admissions:
            rows[admission.row] = admission.request
        for move in plan.moves:
            rows[move.target] = rows[move.source]
        assert [id(rows[row]) for row in range(len(plan.rows))] == [id(one) for one in plan.rows]
        assert all(any(one is other for other in alive) for one in plan.rows)
        assert len({id(one) for one in plan.rows}) == len(plan.rows) <= ROWS + 1
        assert sum(one.urgency is Urgency.BULK for one in plan.rows) <= ROWS
        ended = scheduler.commit(plan, ends[: len(plan.rows)])
        alive = [one for one in alive if all(one is not other.request for other in ended)]
        assert scheduler.num_running + scheduler.num_waiting == len(alive)
