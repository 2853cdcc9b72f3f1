"""While the opening of a job is spoken, what follows it waits; no request waits for two openings."""

from __future__ import annotations

import numpy as np

from worker.engine.cpu.scheduler import Scheduler
from worker.engine.interface import SamplingParams, Urgency
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd

ROWS = 4
BULK, INTERACTIVE = Urgency.BULK, Urgency.INTERACTIVE


def request(name: str, urgency: Urgency = BULK, *, is_opening: bool = False) -> RequestState:
    ids = np.zeros(4, dtype=np.int64)
    layout = PromptLayout(ids, ids, ids[:0], 4)
    return RequestState(name, layout, SamplingParams(), 0, 10, urgency=urgency, is_opening=is_opening)


def opening(name: str) -> RequestState:
    return request(name, is_opening=True)


def scheduler_of(*requests: RequestState) -> Scheduler:
    scheduler = Scheduler(ROWS, 1, 0, 100)
    for one in requests:
        scheduler.add(one)
    return scheduler


def step(scheduler: Scheduler, ended: str = "") -> set[str]:
    """Who is spoken in the next step; `ended` is over after it."""
    plan = scheduler.plan(0.0)
    assert plan is not None
    names = [row.request_id for row in plan.rows]
    scheduler.commit(plan, [RowEnd.EOS if name == ended else RowEnd.RUNNING for name in names])
    return set(names)


def test_what_follows_an_opening_waits_until_it_is_spoken() -> None:
    scheduler = scheduler_of(request("one"), opening("zero"), request("two"))

    assert step(scheduler) == {"zero"}
    assert step(scheduler, ended="zero") == {"zero"}
    assert step(scheduler) == {"one", "two"}


def test_it_waits_as_well_where_it_came_a_step_earlier() -> None:
    scheduler = scheduler_of(request("one"))
    assert step(scheduler) == {"one"}
    scheduler.add(opening("zero"))
    scheduler.add(request("two"))

    assert step(scheduler, ended="zero") == {"zero", "one"}
    assert step(scheduler) == {"one", "two"}


def test_other_openings_and_interactive_work_do_not_wait() -> None:
    scheduler = scheduler_of(opening("zero"), request("bulk"), opening("other"), request("awaited", INTERACTIVE))

    assert step(scheduler) == {"zero", "other", "awaited"}


def test_no_request_waits_for_two_openings() -> None:
    scheduler = scheduler_of(opening("first"), *(request(f"bulk {n}") for n in range(6)))
    assert step(scheduler, ended="first") == {"first"}
    scheduler.add(opening("second"))

    assert step(scheduler) == {"second", "bulk 0", "bulk 1", "bulk 2"}


def test_a_busy_batch_goes_on_beside_an_opening() -> None:
    scheduler = scheduler_of(*(request(f"bulk {n}") for n in range(4)))
    step(scheduler, ended="bulk 0")
    scheduler.add(opening("zero"))
    scheduler.add(request("next"))

    assert step(scheduler, ended="bulk 1") == {"zero", "bulk 1", "bulk 2", "bulk 3"}
    assert "next" in step(scheduler)


def test_an_opening_that_is_cancelled_is_waited_for_no_more() -> None:
    zero = opening("zero")
    scheduler = scheduler_of(zero, request("one"))
    step(scheduler)
    scheduler.cancel(zero)

    assert step(scheduler) == {"one"}
