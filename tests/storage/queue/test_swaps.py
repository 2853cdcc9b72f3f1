"""Who is on the way to which model."""

from __future__ import annotations

import pytest
import redis

from storage.jobs.work_queues import speech_queue
from storage.queue.swaps import REST_AFTER_FAILURE_S, SWAP_TTL_S, Swaps
from storage.runtime.config.settings import StorageSettings

BETA, GAMMA = speech_queue("beta"), speech_queue("gamma")


class Watch:
    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> int:
        return round(self.now_s * 1000)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def swaps(redis_client: redis.Redis, storage_settings: StorageSettings, watch: Watch) -> Swaps:
    return Swaps(redis_client, storage_settings.key_prefix, watch)


def test_one_worker_at_a_time_goes_to_a_model(swaps: Swaps, watch: Watch) -> None:
    assert swaps.begin(BETA, "w-1")
    assert not swaps.begin(BETA, "w-2")
    assert swaps.begin(GAMMA, "w-2")
    watch.now_s += 30
    assert swaps.resume(BETA, "w-1")
    assert swaps.begin(BETA, "w-1")
    watch.now_s += 12.5

    assert swaps.arrived(BETA, "w-1") == 42.5
    assert swaps.arrived(BETA, "w-1") is None
    assert swaps.begin(BETA, "w-2")


def test_one_that_says_nothing_any_more_is_not_waited_for(swaps: Swaps, watch: Watch) -> None:
    swaps.begin(BETA, "w-1")
    watch.now_s += SWAP_TTL_S + 1

    assert swaps.begin(BETA, "w-2")
    assert swaps.arrived(BETA, "w-1") is None


def test_what_could_not_be_loaded_is_left_alone_for_a_while_by_everybody(swaps: Swaps, watch: Watch) -> None:
    swaps.begin(BETA, "w-1")
    swaps.failed(BETA, "w-1")

    assert not swaps.resume(BETA, "w-1")
    assert not swaps.begin(BETA, "w-1")
    assert not swaps.begin(BETA, "w-2")
    watch.now_s += REST_AFTER_FAILURE_S + 1
    assert swaps.begin(BETA, "w-2")


def test_one_that_comes_back_elsewhere_was_killed_on_the_way_and_others_may_go(swaps: Swaps) -> None:
    swaps.begin(BETA, "w-1")

    assert not swaps.resume(speech_queue("alpha"), "w-1")
    assert swaps.begin(BETA, "w-2")
    swaps.given_up(BETA, "w-2")
    assert swaps.begin(BETA, "w-1")
