"""The one policy of all lanes, in any mixture of interactive and bulk, openings and others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.engine.interface import Urgency
from worker.engine.serving.admission_queue import MOST_OVERTAKINGS, AdmissionQueue
from worker.engine.serving.chunks import ChunkPlan

BULK, INTERACTIVE = Urgency.BULK, Urgency.INTERACTIVE


def line_of(*urgencies: Urgency) -> AdmissionQueue[int]:
    line: AdmissionQueue[int] = AdmissionQueue()
    for number, urgency in enumerate(urgencies):
        line.add(number, urgency)
    return line


def popped(line: AdmissionQueue[int], count: int) -> list[int]:
    return [line.pop() for _ in range(count)]


def test_interactive_goes_first_and_each_class_in_its_order() -> None:
    assert popped(line_of(BULK, INTERACTIVE, BULK, INTERACTIVE), 4) == [1, 3, 0, 2]


def test_of_five_one_is_of_bulk_while_both_wait() -> None:
    line = line_of(*[INTERACTIVE] * 10, BULK, BULK)

    assert popped(line, 12) == [0, 1, 2, 3, 10, 4, 5, 6, 7, 11, 8, 9]


def test_one_that_has_begun_goes_on_before_its_like() -> None:
    line = line_of(BULK, BULK)
    first = line.pop()
    line.put_back(first, BULK)
    line.add(7, INTERACTIVE)

    assert popped(line, 3) == [7, first, 1]


def test_openings_go_before_their_like_and_of_five_one_is_another() -> None:
    line = line_of(BULK, BULK)
    for number in range(2, 8):
        line.add(number, BULK, is_opening=True)
    line.add(8, INTERACTIVE)

    assert popped(line, 9) == [8, 2, 3, 4, 5, 0, 6, 7, 1]


def test_one_is_taken_out_of_turn() -> None:
    line = line_of(BULK, INTERACTIVE, BULK)

    assert line.take(lambda number: number == 2) == 2
    assert line.take(lambda number: number == 2) is None
    assert len(line) == 2
    assert line.drain() == [1, 0]
    assert not line


def ranked(*ranks: int, most_admitted: int) -> AdmissionQueue[int]:
    """Items are their ranks."""
    line: AdmissionQueue[int] = AdmissionQueue(lambda item: item, most_admitted)
    for rank in ranks:
        line.add(rank, BULK)
    return line


def test_the_lowest_rank_goes_first() -> None:
    assert popped(ranked(3, 1, 2, most_admitted=9), 3) == [1, 2, 3]


def test_one_that_saw_its_fill_of_others_goes_before_lower_ranks() -> None:
    line = ranked(9, 1, 2, 3, 4, most_admitted=3)

    assert popped(line, 5) == [1, 2, 3, 9, 4]


def test_openings_have_no_rank() -> None:
    line = ranked(3, 1, most_admitted=9)
    line.add(8, BULK, is_opening=True)
    line.add(7, BULK, is_opening=True)

    assert popped(line, 4) == [8, 7, 1, 3]


def test_ranked_ones_are_taken_out_of_turn_and_forgotten() -> None:
    line = ranked(3, 1, 2, most_admitted=9)

    assert line.take(lambda item: item == 1) == 1
    assert popped(line, 1) == [2]
    line.add(5, BULK)
    assert line.drain() == [3, 5]
    line.add(4, BULK)
    assert popped(line, 1) == [4]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from([INTERACTIVE, BULK, None]), max_size=60))
def test_no_request_is_lost_and_none_waits_for_ever(events: list[Urgency | None]) -> None:
    """None: a request goes in."""
    line: AdmissionQueue[int] = AdmissionQueue()
    waiting: dict[int, Urgency] = {}
    overtakings = 0
    for number, event in enumerate(events):
        if event is not None:
            line.add(number, event)
            waiting[number] = event
        elif line:
            taken = line.peek()
            assert line.pop() == taken
            urgency = waiting.pop(taken)
            assert taken == min([taken, *(other for other, one in waiting.items() if one is urgency)])
            behind = urgency is INTERACTIVE and BULK in waiting.values()
            overtakings = overtakings + 1 if behind else 0
            assert overtakings <= MOST_OVERTAKINGS
        assert len(line) == len(waiting)


def test_live_speech_goes_before_all_others_and_takes_nobodys_turn() -> None:
    line = line_of(BULK, INTERACTIVE, Urgency.LIVE, *[INTERACTIVE] * 4, Urgency.LIVE)

    assert popped(line, 8) == [2, 7, 1, 3, 4, 5, 0, 6]


def test_chunks_double_up_to_their_bound() -> None:
    plan = ChunkPlan(first=2, most=16)
    lengths, done = list[int](), 0
    for _ in range(7):
        lengths.append(plan.length_behind(done))
        done += lengths[-1]

    assert lengths == [2, 2, 4, 8, 16, 16, 16]
