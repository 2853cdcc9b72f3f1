"""When requests are due."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.server.load import Pattern, arrivals

patterns = st.sampled_from(["poisson", "even"])


@settings(deadline=None, derandomize=True)
@given(pattern=patterns, rate=st.floats(0.1, 100), seconds=st.floats(0.1, 30), seed=st.integers(0, 99))
def test_arrivals_are_in_order_within_their_time_and_the_same_for_a_seed(
    pattern: Pattern, rate: float, seconds: float, seed: int
) -> None:
    due = arrivals(pattern, rate, seconds, seed)

    assert due == sorted(due)
    assert all(0 <= at < seconds for at in due)
    assert due == arrivals(pattern, rate, 2 * seconds, seed)[: len(due)]


def test_even_arrivals_are_as_many_as_the_rate_says_and_as_far_apart() -> None:
    assert arrivals("even", 4, 2.0, 0) == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]


def test_random_arrivals_have_the_rate_and_the_spread_of_those_who_do_not_know_of_each_other() -> None:
    due = arrivals("poisson", 50, 400, 1)

    apart = [later - earlier for earlier, later in pairwise(due)]
    assert statistics.mean(apart) == pytest.approx(1 / 50, rel=0.05)
    assert statistics.stdev(apart) == pytest.approx(1 / 50, rel=0.05)
    assert due != arrivals("poisson", 50, 400, 2)
