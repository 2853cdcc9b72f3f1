"""Calls that come while others are on their way share a round trip, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from storage.database.functions import Reply
from storage.database.keys import RedisKeys
from storage.database.shared_calls import MOST_TOGETHER, SharedCalls
from storage.ids import WorkQueue
from storage.queue.worker_slots import WorkerSlots
from tests.storage.database.shared_trips import Trips
from tests.threads import BoundedExecutor


@pytest.fixture
def trips(redis_client: redis.Redis) -> Trips:
    return Trips(redis_client)


@pytest.fixture
def shared(trips: Trips) -> SharedCalls:
    return SharedCalls(trips)


@pytest.fixture
def threads() -> Iterator[BoundedExecutor]:
    with BoundedExecutor(4 * MOST_TOGETHER) as executor:
        yield executor


@pytest.fixture
def ask(redis_client: redis.Redis, shared: SharedCalls) -> Callable[[int], Callable[[], int]]:
    """A call whose answer is the number given."""
    slots = WorkerSlots(redis_client)

    def asking(number: int) -> Callable[[], int]:
        slots.announce(WorkQueue(f"gpu.{number}"), "w", number)
        return lambda: shared.call("worker_slots", queue=f"gpu.{number}").number("slots")

    return asking


Ask = Callable[[int], Callable[[], int]]


def test_a_call_alone_goes_at_once(trips: Trips, ask: Ask) -> None:
    assert [ask(number)() for number in (3, 4)] == [3, 4]
    assert trips.sizes == [1, 1]


def test_those_that_come_meanwhile_go_together_behind_it(
    trips: Trips, shared: SharedCalls, threads: BoundedExecutor, ask: Ask
) -> None:
    answers = trips.together(shared, threads, [ask(number) for number in range(1, 10)])

    assert [answer.result(60) for answer in answers] == list(range(1, 10))
    assert trips.sizes == [1, 8]
    assert shared.num_waiting == 0


def test_no_trip_is_longer_than_others_can_wait_for(
    trips: Trips, shared: SharedCalls, threads: BoundedExecutor, ask: Ask
) -> None:
    number = 2 * MOST_TOGETHER + 3

    answers = trips.together(shared, threads, [ask(each + 1) for each in range(number)])

    assert [answer.result(60) for answer in answers] == [each + 1 for each in range(number)]
    assert trips.sizes == [1, MOST_TOGETHER, MOST_TOGETHER, 2]


def test_an_error_is_its_own_calls_alone(
    redis_client: redis.Redis, trips: Trips, shared: SharedCalls, threads: BoundedExecutor, ask: Ask
) -> None:
    redis_client.set(RedisKeys("rhapsode").single("worker_registry"), "no hash")

    def wrong() -> int:
        return shared.call("report", worker="w", report="{}", forgotten_ms=1).number("slots")

    first, second, bad, last = trips.together(shared, threads, [ask(1), ask(2), wrong, ask(4)])

    assert [each.result(60) for each in (first, second, last)] == [1, 2, 4]
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        bad.result(60)


def test_what_cannot_be_sent_fails_before_it_stands_with_others(trips: Trips, shared: SharedCalls, ask: Ask) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        shared.call("worker_slots", queue=float("nan"))

    assert (trips.sizes, shared.num_waiting) == ([], 0)
    assert ask(5)() == 5


def test_a_server_that_does_not_answer_is_told_of_to_all_that_wait(
    trips: Trips, shared: SharedCalls, threads: BoundedExecutor, ask: Ask
) -> None:
    trips.failures[0] = RedisConnectionError("gone")

    answers = trips.together(shared, threads, [ask(number) for number in (1, 2, 3)])

    # Not one time-out behind the other.
    assert [type(each.exception(20)) for each in answers] == [RedisConnectionError] * 3
    assert trips.sizes == [1]
    assert ask(7)() == 7


def test_what_ends_a_thread_ends_no_call_but_those_that_went_with_its_own(
    trips: Trips, shared: SharedCalls, threads: BoundedExecutor, ask: Ask
) -> None:
    trips.failures[1] = KeyboardInterrupt()

    answers = trips.together(shared, threads, [ask(number + 1) for number in range(MOST_TOGETHER + 2)])

    first, sending, *beside, last = [type(each.exception(20)) for each in answers]
    assert (sending, set(beside)) == (KeyboardInterrupt, {RedisConnectionError})
    assert {first, last} == {type(None)}
    assert trips.sizes == [1, MOST_TOGETHER, 1]


def test_a_server_that_was_emptied_is_given_the_library_again(
    redis_client: redis.Redis, trips: Trips, shared: SharedCalls, threads: BoundedExecutor
) -> None:
    redis_client.function_flush()

    def announce(name: str) -> Callable[[], Reply]:
        return lambda: shared.call("announce", queue="gpu.small", worker=name, slots=1, ttl_ms=60_000)

    answers = trips.together(shared, threads, [announce(name) for name in "abcd"])

    assert [answer.result(60).status for answer in answers] == ["ok"] * 4
    assert WorkerSlots(redis_client).slots(WorkQueue("gpu.small")) == 4
