"""Loads over the fake engine: what is counted, and that nothing is left in flight."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rhapsode.bench.engine.measuring import Driver, NothingEnded, closed_loop, first_audio_ms, warm_up
from worker.engine.fake import FakeEngine
from worker.engine.interface import BuiltInSpeaker
from worker.engine.settings import FakeEngineSettings

WORDS = ("rain", "north", "evening", "train") * 40


@pytest.fixture
def driver() -> Iterator[Driver]:
    engine = FakeEngine(FakeEngineSettings(slots=8, step_s=0.001))
    yield Driver(engine, BuiltInSpeaker(engine.info.speakers[0]), WORDS, (3, 9))
    engine.close()


def in_flight(driver: Driver) -> int:
    stats = driver.engine.stats()
    return stats.active + stats.waiting


def test_a_window_counts_what_was_delivered_in_it(driver: Driver) -> None:
    seen: list[int] = []

    window = closed_loop(driver, streams=4, window_s=0.5, most_s=60.0, look=seen.append)

    assert window.requests == len(seen) == seen[-1]
    assert window.seconds >= 0.5
    assert window.audio_s <= window.requests * 9 * 0.08
    assert in_flight(driver) == 0


def test_too_little_time_for_a_request_of_each_stream_is_said(driver: Driver) -> None:
    with pytest.raises(NothingEnded, match="fewer than 4 requests ended"):
        closed_loop(driver, streams=4, window_s=1.0, most_s=0.0)

    assert in_flight(driver) == 0


def test_first_audio_is_told_beside_others_who_are_cancelled_then(driver: Driver) -> None:
    waits_ms = first_audio_ms(driver, running=3, samples=5, most_s=60.0)

    assert len(waits_ms) == 5
    assert min(waits_ms) > 0
    assert in_flight(driver) == 0


def test_no_first_audio_in_time_is_said(driver: Driver) -> None:
    with pytest.raises(NothingEnded, match="no first audio"):
        first_audio_ms(driver, running=0, samples=5, most_s=0.0)


def test_a_warm_up_ends_all_its_requests(driver: Driver) -> None:
    warm_up(driver, requests=3)

    assert driver.engine.stats().finished == 3
