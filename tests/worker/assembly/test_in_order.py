"""Results come in the order of what is worked on, a few ahead of the caller."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.assembly.in_order import in_order


@given(st.lists(st.integers()), st.integers(1, 8))
def test_results_come_in_order(inputs: list[int], num_threads: int) -> None:
    assert list(in_order(str, inputs, num_threads, "work")) == [str(each) for each in inputs]


def test_several_are_worked_on_at_once() -> None:
    together = threading.Barrier(4)
    assert len(list(in_order(lambda _: together.wait(timeout=30), range(8), 4, "work"))) == 8


@given(st.integers(0, 20), st.integers(1, 8))
def test_no_more_than_a_few_are_ahead_of_the_caller(num_taken: int, num_threads: int) -> None:
    asked: list[int] = []

    def inputs() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    results = in_order(str, inputs(), num_threads, "work")
    assert len(list(islice(results, num_taken))) == num_taken
    assert len(asked) == (num_taken + num_threads if num_taken else 0)


def test_an_error_comes_in_its_place_and_ends_the_threads() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError(number)
        return number

    taken: list[int] = []
    with pytest.raises(ValueError, match="3"):
        taken.extend(in_order(work, range(100), 4, "in-order-error"))
    assert taken == [0, 1, 2]
    assert not [each for each in threading.enumerate() if each.name.startswith("in-order-error")]


def test_threads_end_with_a_caller_that_takes_no_more() -> None:
    results = in_order(str, range(100), 4, "in-order-left")
    assert next(results) == "0"
    del results
    assert not [each for each in threading.enumerate() if each.name.startswith("in-order-left")]
