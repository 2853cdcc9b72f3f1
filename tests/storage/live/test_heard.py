"""When a listener without a buffer runs dry."""

from __future__ import annotations

from storage.live.heard import HeardClock

SECOND = 24_000


def test_what_comes_in_time_is_no_underrun() -> None:
    clock = HeardClock(SECOND)
    clock.add(SECOND, 10.0, may_wait=False)
    clock.add(SECOND, 10.9, may_wait=False)

    assert (clock.underruns, clock.audio_s) == (0, 2.0)
    assert round(clock.lead_s(11.0), 6) == 1.0


def test_every_gap_counts_once_and_is_waited_for() -> None:
    clock = HeardClock(SECOND)
    clock.add(SECOND, 0.0, may_wait=False)
    clock.add(SECOND, 1.5, may_wait=False)
    clock.add(SECOND, 2.4, may_wait=False)

    assert clock.underruns == 1
    assert round(clock.lead_s(2.5), 6) == 1.0


def test_a_text_that_is_late_is_no_underrun() -> None:
    clock = HeardClock(SECOND)
    clock.add(SECOND, 0.0, may_wait=True)
    clock.add(SECOND, 5.0, may_wait=True)

    assert clock.underruns == 0
    assert clock.lead_s(5.0) == 1.0
