"""The window that slides: never more than is allowed, and the told wait is the one that is needed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator

import pytest
import redis

from storage.database.connections import connect_redis_async
from storage.database.library import LAST_USE_STEP_MS
from storage.runtime.config.settings import StorageSettings
from storage.tenants.api_keys import TENANT_SCOPES, ApiKeyStore, key_digest
from storage.tenants.rate_limits import CallerGate, RateState
from tests.storage.job_store.job_driver import ALICE, BOB, TEST_CLOCK, Clock

AMOUNT, PERIOD_S = 10, 60


@pytest.fixture
def ask(storage_settings: StorageSettings, clock: Clock) -> Iterator[Callable[[], RateState]]:
    """One request of Alice's, at the time that the clock shows."""
    with asyncio.Runner() as runner:
        client = connect_redis_async(storage_settings)
        gate = CallerGate(client, "rhapsode", f"{AMOUNT} per {PERIOD_S} second", TEST_CLOCK)
        yield lambda: runner.run(gate.count(ALICE))
        runner.run(client.aclose())


def test_no_period_has_more_than_twice_the_part_that_overlaps(ask: Callable[[], RateState], clock: Clock) -> None:
    """What a window that jumps would allow: twice the amount around its end."""
    dice = random.Random(7)
    admitted_s: list[float] = []
    for _ in range(400):
        clock.advance(dice.uniform(0, 8))
        if ask().is_admitted:
            admitted_s.append(clock.now_ms / 1000)

    most = max(sum(start <= each < start + PERIOD_S for each in admitted_s) for start in admitted_s)
    assert most <= AMOUNT * 1.5
    assert len(admitted_s) >= 0.9 * AMOUNT * (admitted_s[-1] - admitted_s[0]) / PERIOD_S


def test_the_told_wait_is_enough_and_hardly_more(ask: Callable[[], RateState], clock: Clock) -> None:
    dice = random.Random(3)
    for _ in range(40):
        while (state := ask()).is_admitted:
            clock.advance(dice.choice((0, 0, 1, 5)))
        if state.reset_s > 2:
            clock.advance(state.reset_s - 2)
            assert not ask().is_admitted
            clock.advance(2)
        else:
            clock.advance(state.reset_s)
        assert ask().is_admitted


def test_what_is_left_goes_down_by_one_and_comes_back(ask: Callable[[], RateState], clock: Clock) -> None:
    assert [ask().remaining for _ in range(AMOUNT + 2)] == [*range(AMOUNT - 1, -1, -1), 0, 0]
    clock.advance(3 * PERIOD_S)
    assert ask().remaining == AMOUNT - 1


def test_a_key_is_found_counted_for_its_tenant_and_noted_as_used_now_and_then(
    storage_settings: StorageSettings, redis_client: redis.Redis, clock: Clock
) -> None:
    keys = ApiKeyStore(redis_client)
    first, second, over = (
        keys.create(BOB, name, TENANT_SCOPES, expires)
        for name, expires in (("one", None), ("two", clock.now_ms + 1), ("over", clock.now_ms))
    )

    async def identify() -> list[object]:
        client = connect_redis_async(storage_settings)
        gate = CallerGate(client, "rhapsode", "5/minute", TEST_CLOCK)
        found: list[object] = []
        for made in (first, second, over):
            known = await gate.identify(key_digest(made.secret))
            found.append(known and (known[0].id, known[0].tenant, known[1].remaining))
        found.append(await gate.identify(key_digest("rh_nobody")))
        await client.aclose()
        return found

    assert asyncio.run(identify()) == [(first.record.id, BOB, 4), (second.record.id, BOB, 3), None, None]
    noted = clock.now_ms
    clock.advance((LAST_USE_STEP_MS - 1) / 1000)
    assert _uses(identify, keys) == [noted, noted, None]
    clock.advance(0.001)
    assert _uses(identify, keys) == [clock.now_ms, noted, None]


def _uses(identify: Callable[[], Coroutine[None, None, list[object]]], keys: ApiKeyStore) -> list[int | None]:
    asyncio.run(identify())
    return [record.last_used_at_ms for record in keys.list()]
