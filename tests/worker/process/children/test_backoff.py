"""Delays between the starts of a child."""

from __future__ import annotations

from worker.process.children.backoff import Backoff


def test_delays_double_up_to_a_bound_while_nothing_is_served() -> None:
    backoff = Backoff()

    assert [backoff.delay_s(served=False) for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_child_that_served_starts_the_delays_again() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.delay_s(served=False)

    assert backoff.delay_s(served=True) == 0.5
    assert backoff.delay_s(served=False) == 1
