"""When a process has more to do than it can do in time."""

from __future__ import annotations

import pytest

from api.live.lateness import Lateness

TICK_S = 0.05


def noted(lateness: Lateness, late_s: float, seconds: float, share: float = 0.9) -> Lateness:
    passed_s = 0.0
    while passed_s < seconds:
        turn_s = TICK_S + late_s
        lateness.note(late_s, turn_s, share * turn_s)
        passed_s += turn_s
    return lateness


def test_a_loop_that_is_late_for_seconds_is_late() -> None:
    assert noted(Lateness(0.25), 0.4, seconds=5).is_late


@pytest.mark.parametrize("pause_s", [0.5, 1.9])
def test_one_pause_is_none(pause_s: float) -> None:
    assert not noted(noted(Lateness(0.25), 0.002, seconds=5), pause_s, seconds=0.1).is_late


def test_a_loop_has_been_late_for_some_seconds_before_it_is_late() -> None:
    assert not noted(Lateness(0.25), 0.5, seconds=1).is_late
    assert noted(Lateness(0.25), 0.5, seconds=5).is_late


def test_a_loop_that_comes_round_once_in_ten_seconds_is_late_at_once() -> None:
    assert noted(Lateness(0.25), 10.0, seconds=1).is_late


def test_it_is_late_until_it_is_half_as_late() -> None:
    lateness = noted(Lateness(0.25), 0.4, seconds=5)
    assert noted(lateness, 0.2, seconds=30).is_late
    assert not noted(lateness, 0.1, seconds=30).is_late
    assert not noted(lateness, 0.2, seconds=30).is_late


def test_a_loop_that_others_keep_waiting_is_none() -> None:
    assert not noted(Lateness(0.25), 1.0, seconds=30, share=0.1).is_late


def test_a_loop_that_is_early_owes_nothing() -> None:
    assert noted(Lateness(0.25), -1e-4, seconds=1).mean_s == 0.0
