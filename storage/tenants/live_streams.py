"""Streams of live speech as Redis counts them: against the tenant's unfinished jobs, and for its usage.

A stream is no job and stores nothing. Every few seconds, an API process reports its open streams and the audio that
they got since. The streams of a silent process no longer count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import redis.asyncio

from storage.database.functions import AsyncFunctions, Clock
from storage.database.redis_errors import redis_errors_named
from storage.ids import TenantId

REPORT_INTERVAL_S = 2.0
KEPT_S = 30.0
"""Without a report, after which a stream is open no more."""

MAX_REPORTED = 500
"""Streams of one report: a function holds the server up."""


@dataclass(frozen=True, slots=True)
class MadeSpeech:
    """Since the last report: segments begun, characters of their texts, audio that was made, time it took an engine."""

    segments: int = 0
    characters: int = 0
    audio_ms: int = 0
    engine_ms: int = 0


@dataclass(frozen=True, slots=True)
class StreamReport:
    """key: the API key's id; "" for this machine's own user and for keys that stand in the settings."""

    tenant: TenantId
    stream: str
    key: str
    is_over: bool
    made: MadeSpeech


class LiveStreamLedger:
    """For the event loop. max_jobs: for tenants without their own limit."""

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str, max_jobs: int, clock: Clock | None = None) -> None:
        self._functions = AsyncFunctions(redis, key_prefix, clock)
        self._max_jobs = max_jobs

    async def open(self, tenant: TenantId, stream: str) -> None:
        """Count one more. Raises `QuotaExceeded`, or `StoreUnavailable`."""
        kept_ms = round(KEPT_S * 1000)
        with redis_errors_named():
            reply = await self._functions.call(
                "open_stream", tenant=tenant, stream=stream, kept_ms=kept_ms, jobs=self._max_jobs
            )
        if reply.status == "refused":
            raise reply.refusal()

    async def report(self, process: str, number: int, streams: Sequence[StreamReport]) -> None:
        """Say what of this process is open and what ended. The same number again does nothing. Raises
        `StoreUnavailable`.
        """
        with redis_errors_named():
            await self._functions.call(
                "report_streams",
                process=process,
                number=str(number),
                kept_ms=round(KEPT_S * 1000),
                streams=[_row(each) for each in streams],
            )


def _row(report: StreamReport) -> dict[str, str | int | bool]:
    return {
        "tenant": report.tenant,
        "stream": report.stream,
        "key_id": report.key,
        "is_over": report.is_over,
        **asdict(report.made),
    }
