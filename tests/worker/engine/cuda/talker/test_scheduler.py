"""Who gets a slot, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.engine.cuda.talker.scheduler import SlotScheduler
from worker.engine.interface import SamplingParams, Urgency
from worker.engine.profiles import AdmissionPolicy
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState

EAGER = AdmissionPolicy(max_prefill_rows=1000)


def request(name: str, frames: int = 100, prompt_rows: int = 10, urgency: Urgency = Urgency.BULK) -> RequestState:
    ids = np.zeros(prompt_rows, dtype=np.int64)
    layout = PromptLayout(ids, ids, ids[:0], num_text_tokens=1000)
    return RequestState(name, layout, SamplingParams(), 0, frames, urgency=urgency)


def admitted(scheduler: SlotScheduler) -> list[str]:
    return [admission.request.request_id for admission in scheduler.admit()]


def add_all(scheduler: SlotScheduler, requests: Sequence[RequestState]) -> None:
    for one in requests:
        scheduler.add(one)


def test_the_longest_expected_speech_goes_first() -> None:
    scheduler = SlotScheduler(2, 0, EAGER)
    add_all(scheduler, [request("short", 10), request("long", 90), request("middle", 50)])

    assert admitted(scheduler) == ["long", "middle"]


def test_an_opening_goes_before_longer_speech_that_came_earlier() -> None:
    scheduler = SlotScheduler(2, 0, EAGER)
    opening = request("opening", 10)
    opening.is_opening = True
    add_all(scheduler, [request("long", 90), request("longer", 95), opening])

    assert admitted(scheduler) == ["opening", "longer"]


def test_no_request_is_overtaken_by_more_than_there_are_slots() -> None:
    scheduler = SlotScheduler(2, 0, EAGER)
    scheduler.add(request("short", 10))
    names: list[str] = []

    for number in range(4):
        scheduler.add(request(f"long {number}", 90))
        scheduler.add(request(f"longer {number}", 95))
        for admission in scheduler.admit():
            names.append(admission.request.request_id)
            scheduler.release(admission.slot)

    assert "short" in names[:4]


def test_prompts_wait_for_the_next_step_when_their_rows_are_too_many() -> None:
    scheduler = SlotScheduler(4, 0, AdmissionPolicy(max_prefill_rows=25))
    add_all(scheduler, [request(str(n), 100, prompt_rows=10) for n in range(3)])

    assert admitted(scheduler) == ["0", "1"]
    assert admitted(scheduler) == ["2"]


def test_a_prompt_beyond_the_budget_goes_in_alone() -> None:
    scheduler = SlotScheduler(4, 0, AdmissionPolicy(max_prefill_rows=25))
    add_all(scheduler, [request("huge", 100, prompt_rows=90), request("next", 90)])

    assert admitted(scheduler) == ["huge"]


def crowded(policy: AdmissionPolicy) -> SlotScheduler:
    """Thirty-two run, and there is room for eight more."""
    scheduler = SlotScheduler(40, 0, policy)
    add_all(scheduler, [request(f"running {n}") for n in range(32)])
    assert len(admitted(scheduler)) == 32
    return scheduler


def test_one_request_waits_for_company_while_many_run_but_not_for_ever() -> None:
    scheduler = crowded(AdmissionPolicy(max_prefill_rows=1000, least_together=2, patience_steps=2))
    scheduler.add(request("one"))

    assert [admitted(scheduler) for _ in range(3)] == [[], [], ["one"]]


def test_company_ends_the_wait() -> None:
    scheduler = crowded(AdmissionPolicy(max_prefill_rows=1000, least_together=2, patience_steps=9))
    scheduler.add(request("one"))
    assert admitted(scheduler) == []
    scheduler.add(request("other"))

    assert admitted(scheduler) == ["one", "other"]


def test_no_request_waits_for_company_while_few_run() -> None:
    scheduler = SlotScheduler(40, 0, AdmissionPolicy(max_prefill_rows=1000, least_together=8, patience_steps=9))
    scheduler.add(request("first"))
    assert admitted(scheduler) == ["first"]
    scheduler.add(request("second"))

    assert admitted(scheduler) == ["second"]


def test_a_cancelled_request_gives_its_slot_back_and_a_waiting_one_is_forgotten() -> None:
    scheduler = SlotScheduler(1, 0, EAGER)
    running, waiting, last = request("running", 90), request("waiting", 80), request("last", 70)
    add_all(scheduler, [running, waiting, last])
    (admission,) = scheduler.admit()

    assert scheduler.cancel(waiting) is None
    assert scheduler.cancel(running) == admission.slot
    assert scheduler.cancel(running) is None

    assert admitted(scheduler) == ["last"]


def test_somebody_who_waits_goes_first_and_waits_for_no_company() -> None:
    scheduler = crowded(AdmissionPolicy(max_prefill_rows=1000, least_together=8, patience_steps=9))
    add_all(scheduler, [request("long", 200), request("first", 10, urgency=Urgency.INTERACTIVE)])
    scheduler.add(request("second", 90, urgency=Urgency.INTERACTIVE))

    assert admitted(scheduler) == ["first", "second", "long"]


def test_of_five_admissions_one_is_of_bulk() -> None:
    scheduler = SlotScheduler(8, 0, EAGER)
    add_all(scheduler, [request("short", 10), request("long", 90)])
    add_all(scheduler, [request(f"awaited {n}", urgency=Urgency.INTERACTIVE) for n in range(6)])

    assert admitted(scheduler) == [*(f"awaited {n}" for n in range(4)), "long", "awaited 4", "awaited 5", "short"]


def test_a_cancelled_one_that_somebody_waited_for_is_forgotten() -> None:
    scheduler = SlotScheduler(1, 0, EAGER)
    awaited = request("awaited", urgency=Urgency.INTERACTIVE)
    add_all(scheduler, [awaited, request("bulk")])

    assert scheduler.cancel(awaited) is None

    assert admitted(scheduler) == ["bulk"]


actions = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 200), st.integers(1, 60)),
        st.tuples(st.just("admit"), st.just(0), st.just(0)),
        st.tuples(st.just("release"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("cancel"), st.integers(0, 30), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(actions=actions, together=st.integers(1, 4), patience=st.integers(0, 3))
def test_any_order_of_events_loses_no_request_and_shares_no_slot(
    actions: list[tuple[str, int, int]], together: int, patience: int
) -> None:
    scheduler = SlotScheduler(3, 0, AdmissionPolicy(50, together, patience))
    known: list[RequestState] = []
    gone: set[str] = set()

    def admit() -> None:
        for admission in scheduler.admit():
            assert admission.request.request_id not in gone
            assert scheduler.request_of(admission.slot) is admission.request

    for action, number, rows in actions:
        match action:
            case "add":
                known.append(request(str(len(known)), number, rows, (Urgency.INTERACTIVE, Urgency.BULK)[number % 2]))
                scheduler.add(known[-1])
            case "admit":
                admit()
            case "release" if scheduler.running:
                slot = scheduler.running[number % len(scheduler.running)]
                gone.add(scheduler.request_of(slot).request_id)
                scheduler.release(slot)
            case "cancel" if number < len(known):
                scheduler.cancel(known[number])
                gone.add(known[number].request_id)
            case _:
                pass
        assert len(set(scheduler.running)) == len(scheduler.running) <= 3
        assert scheduler.num_waiting + len(scheduler.running) == len(known) - len(gone)

    drain(scheduler, admit)
    assert not scheduler.num_waiting


def drain(scheduler: SlotScheduler, admit: Callable[[], None]) -> None:
    for _ in range(1000):
        admit()
        for slot in scheduler.running:
            scheduler.release(slot)
        if not scheduler.num_waiting:
            return
    pytest.fail("a request waits for ever")
