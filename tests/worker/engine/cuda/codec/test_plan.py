"""Which pass serves best what is waiting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.engine.cuda.codec.plan import PassShape, choose_pass, serving_plan

PLAN = serving_plan(num_streams=64)


def test_one_utterance_gets_the_smallest_pass_that_holds_it() -> None:
    assert choose_pass(PLAN, [100]).shape == PassShape(1, 100)
    assert choose_pass(PLAN, [3]).shape == PassShape(1, 4)


def test_an_utterance_that_no_pass_holds_begins_with_the_longest() -> None:
    assert choose_pass(PLAN, [1000]).shape == PassShape(1, 300)


def test_chunks_of_running_streams_share_a_pass() -> None:
    choice = choose_pass(PLAN, [8] * 32)

    assert choice.shape == PassShape(32, 8)
    assert sorted(choice.members) == list(range(32))


@given(waiting=st.lists(st.integers(1, 400), min_size=1, max_size=40))
def test_the_stream_that_has_waited_longest_is_served(waiting: list[int]) -> None:
    choice = choose_pass(PLAN, waiting)

    assert choice.members[0] == 0
    assert len(set(choice.members)) == len(choice.members) <= choice.shape.num_streams


@given(waiting=st.lists(st.integers(62, 188), min_size=24, max_size=64))
def test_with_a_full_queue_hardly_a_frame_is_padding(waiting: list[int]) -> None:
    choice = choose_pass(PLAN, waiting)

    useful = sum(min(waiting[number], choice.shape.num_frames) for number in choice.members)
    assert useful / choice.shape.size > 0.9


def test_the_sizes_that_others_capture_are_in_the_plan_up_to_1600_frames() -> None:
    theirs = {PassShape(streams, frames) for frames in (25, 50, 100, 150, 200, 250, 300) for streams in (1, 2, 4, 8)}

    assert theirs - PLAN.captured == {PassShape(8, 250), PassShape(8, 300)}
    assert PLAN.captured == frozenset(PLAN.shapes)
