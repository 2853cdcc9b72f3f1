"""Streams count while their process tells of them; what they made counts once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date, timedelta

import pytest
import redis

from storage.database.connections import connect_redis_async
from storage.errors import QuotaExceeded
from storage.ids import TenantId
from storage.runtime.config.settings import StorageSettings
from storage.tenants.live_streams import KEPT_S, LiveStreamLedger, MadeSpeech, StreamReport
from storage.tenants.quotas import OwnQuotas, QuotaStore, quotas_of
from storage.tenants.usage import Amounts, UsageLedger, total

ANN, BEN = TenantId("ann"), TenantId("ben")
NOW_MS = 1_800_000_000_000
DAY = date(1970, 1, 1) + timedelta(days=NOW_MS // 86_400_000)


class Clock:
    now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


Story = Callable[[LiveStreamLedger, Clock], Awaitable[None]]
Tell = Callable[[Story], None]


@pytest.fixture
def tell(storage_settings: StorageSettings) -> Tell:
    """Runs a story on a ledger for which a tenant may have two streams."""

    async def run(story: Story) -> None:
        async with connect_redis_async(storage_settings) as client:
            clock = Clock()
            await story(LiveStreamLedger(client, storage_settings.key_prefix, 2, clock), clock)

    return lambda story: asyncio.run(run(story))


def report(stream: str, *, is_over: bool = False, made: MadeSpeech | None = None) -> StreamReport:
    return StreamReport(ANN, stream, "key", is_over, made or MadeSpeech())


def test_a_tenant_has_as_many_as_it_may(tell: Tell) -> None:
    async def story(ledger: LiveStreamLedger, clock: Clock) -> None:
        await ledger.open(ANN, "one")
        await ledger.open(ANN, "two")
        with pytest.raises(QuotaExceeded) as refused:
            await ledger.open(ANN, "three")
        assert refused.value.retry_after_s == 1.0
        await ledger.open(BEN, "four")

        await ledger.report("process", 1, [report("one", is_over=True), report("two")])
        await ledger.open(ANN, "three")

    tell(story)


def test_streams_of_a_process_that_is_gone_count_no_longer(tell: Tell) -> None:
    async def story(ledger: LiveStreamLedger, clock: Clock) -> None:
        await ledger.open(ANN, "one")
        await ledger.open(ANN, "two")
        clock.now_ms += round(KEPT_S * 500)
        await ledger.report("process", 1, [report("two")])
        clock.now_ms += round(KEPT_S * 500) + 1
        await ledger.open(ANN, "three")
        with pytest.raises(QuotaExceeded):
            await ledger.open(ANN, "four")

    tell(story)


def test_limits_of_a_tenants_own_count(
    tell: Tell, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    QuotaStore(redis_client, quotas_of(storage_settings)).set_own(ANN, OwnQuotas(jobs=0))

    async def story(ledger: LiveStreamLedger, clock: Clock) -> None:
        with pytest.raises(QuotaExceeded):
            await ledger.open(ANN, "one")

    tell(story)


def test_what_was_made_counts_once_however_often_it_is_told(tell: Tell, redis_client: redis.Redis) -> None:
    made = MadeSpeech(segments=1, characters=10, audio_ms=1_000, engine_ms=50)

    async def story(ledger: LiveStreamLedger, clock: Clock) -> None:
        for number in (1, 1, 2):
            await ledger.report("process", number, [report("one", made=made)])
        await ledger.report("other", 2, [report("two", is_over=True, made=made)])

    tell(story)
    assert total(UsageLedger(redis_client).read(ANN, DAY, DAY)) == Amounts(3, 30, 3_000, 0, 150)
