"""What is said of a difference holds for the numbers that are drawn."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.statistics import LEAST_VALUES, LEAST_VALUES_FOR_P95, quantile_ratio, total_ratio
from tests.property_tests import examples

columns = st.lists(st.floats(0.001, 1e3), min_size=LEAST_VALUES_FOR_P95, max_size=60)


@settings(deadline=None, derandomize=True, max_examples=examples(50))
@given(first=columns, second=columns, share=st.sampled_from([0.5, 0.95]))
def test_a_ratio_lies_between_those_of_the_extremes_and_is_the_same_again(
    first: list[float], second: list[float], share: float
) -> None:
    found = quantile_ratio(first, second, share)

    assert found is not None
    assert found == quantile_ratio(first, second, share)
    least, most = min(second) / max(first), max(second) / min(first)
    assert least * (1 - 1e-9) <= found.least <= found.most <= most * (1 + 1e-9)


def drawn(seed: int, count: int, scale: float = 1.0) -> list[float]:
    chance = random.Random(seed)
    return [scale * chance.lognormvariate(0, 0.3) for _ in range(count)]


def test_of_two_draws_from_one_thing_no_difference_is_seen_but_by_chance() -> None:
    seen = [quantile_ratio(drawn(2 * n, 60), drawn(2 * n + 1, 60), 0.5, seed=n) for n in range(100)]

    assert sum(each is not None and each.is_different for each in seen) <= 12


def test_an_interval_holds_what_is_true() -> None:
    found = [quantile_ratio(drawn(2 * n, 80), drawn(2 * n + 1, 80, 1.5), 0.5, seed=n) for n in range(100)]

    assert sum(each is not None and each.least <= 1.5 <= each.most for each in found) >= 88
    assert sum(each is not None and each.is_different for each in found) >= 95


def test_totals_are_weighed_by_the_time_they_took() -> None:
    twice = total_ratio([1.0] * 20, [1.0] * 40, weight=0.5)

    assert twice is not None
    assert (twice.ratio, twice.least, twice.most) == (1.0, 1.0, 1.0)


def test_many_values_are_drawn_in_cells_that_spread_as_they_do() -> None:
    first, second = drawn(1, 4_000), drawn(2, 4_000)
    found = total_ratio(first, second, 1.0)

    assert found is not None
    # Of each sum the standard error is 0.3 of a mean of 1.05, divided by the root of 4,000: 0.5 %; of the ratio 0.68 %.
    assert found.most - found.least == pytest.approx(2 * 1.96 * 0.0068, rel=0.25)


def test_of_few_values_nothing_is_said() -> None:
    few, enough = [1.0] * (LEAST_VALUES - 1), [1.0] * LEAST_VALUES

    assert quantile_ratio(few, enough, 0.5) is None
    assert quantile_ratio(enough, enough, 0.95) is None
    assert total_ratio(enough, few, 1.0) is None
    assert quantile_ratio([0.0] * LEAST_VALUES, enough, 0.5) is None
