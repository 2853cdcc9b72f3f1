from __future__ import annotations

import pytest

from worker.engine.errors import RequestRejected
from worker.engine.requests.budget import frame_budget, max_text_tokens


def test_a_text_may_take_four_times_as_long_as_expected_and_two_seconds_more() -> None:
    budget = frame_budget(num_text_tokens=45, prompt_rows=60, trailing_rows=0, capacity=2048, requested=None)

    assert budget == 4 * 125 + 25


def test_a_request_s_own_limit_is_kept_whatever_the_text() -> None:
    assert frame_budget(num_text_tokens=45, prompt_rows=60, trailing_rows=0, capacity=2048, requested=7) == 7


def test_the_slot_bounds_both() -> None:
    assert frame_budget(num_text_tokens=100, prompt_rows=120, trailing_rows=0, capacity=600, requested=None) == 480
    assert frame_budget(num_text_tokens=10, prompt_rows=30, trailing_rows=0, capacity=100, requested=5000) == 70


@pytest.mark.parametrize("requested", [None, 5000])
def test_a_text_too_long_for_a_slot_is_rejected_with_the_numbers(requested: int | None) -> None:
    with pytest.raises(RequestRejected, match=r"400 tokens .* 412 rows .* 1666 frames .* 2048 positions"):
        frame_budget(num_text_tokens=400, prompt_rows=412, trailing_rows=0, capacity=2048, requested=requested)


def test_more_text_for_later_frames_than_a_slot_keeps_is_rejected() -> None:
    with pytest.raises(RequestRejected, match=r"5000 tokens leaves 5000 for later frames; a slot has room for 2047"):
        frame_budget(num_text_tokens=5000, prompt_rows=10, trailing_rows=5000, capacity=2048, requested=5)


def test_no_frames_is_no_request() -> None:
    with pytest.raises(RequestRejected, match="max_frames should be at least 1, is 0"):
        frame_budget(num_text_tokens=4, prompt_rows=12, trailing_rows=0, capacity=2048, requested=0)


def test_the_longest_announced_text_fits() -> None:
    longest = max_text_tokens(2048)

    assert (
        frame_budget(num_text_tokens=longest, prompt_rows=longest + 12, trailing_rows=0, capacity=2048, requested=None)
        > 0
    )
    assert longest > 300


@pytest.mark.parametrize("capacity", range(1024, 2049, 64))
def test_a_text_that_gives_up_a_token_for_every_four_of_an_instruction_fits(capacity: int) -> None:
    longest = max_text_tokens(capacity)

    for instruction in range(1, 2 * longest + 1):
        text = longest - -(-instruction // 4)
        rows = instruction + text + 16  # the template around the text and around the instruction
        assert frame_budget(num_text_tokens=text, prompt_rows=rows, trailing_rows=0, capacity=capacity, requested=None)
