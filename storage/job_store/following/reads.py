"""Reads of event logs on behalf of many followers: what is wanted at the same time goes in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import redis.asyncio

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.ids import JobId
from storage.job_store.following.event import FIRST_EVENT, Entry, LoggedEvent, check_event_id, events_of, order_of

PAGE = 200
"""Events that one read returns at most; the next continues behind the last of them."""

BATCH = 64
"""Reads of one round trip: pages of that many are some ten megabytes at the most."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The first `count` events from `first` on; from the other end if `is_backward`."""

    job_id: JobId
    first: str = "-"
    count: int = 1
    is_backward: bool = False


class EventReads:
    """For the event loop. Everything raises `StoreUnavailable`."""

    def __init__(self, client: redis.asyncio.Redis, key_prefix: str) -> None:
        self._client = client
        self._keys = RedisKeys(key_prefix)
        self._wanted: dict[_Read, asyncio.Future[list[LoggedEvent]]] = {}
        self._working: asyncio.Task[None] | None = None

    async def page(self, job_id: JobId, after: str) -> list[LoggedEvent]:
        """Raises `ValueError` if `after` is no event id."""
        check_event_id(after)
        return await self._read(_Read(job_id, f"({after}", PAGE))

    async def newest(self, job_id: JobId) -> LoggedEvent | None:
        """The log's last; a job has a log until it is deleted. Raises `StoreUnavailable`, as the others do."""
        return next(iter(await self._read(_Read(job_id, is_backward=True))), None)

    async def begins_behind(self, job_id: JobId, after: str) -> bool:
        """Whether events behind `after` are not kept any more. Raises `ValueError` if `after` is no event id."""
        check_event_id(after)
        first = next(iter(await self._read(_Read(job_id))), None)
        return first is not None and first.type != FIRST_EVENT and order_of(first.id) > order_of(after)

    async def _read(self, read: _Read) -> list[LoggedEvent]:
        """One that is sent from now on: an earlier answer may lack events that the caller did not see."""
        answer = self._wanted.get(read)
        if answer is None:
            answer = self._wanted[read] = asyncio.get_running_loop().create_future()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        # Others may wait for the same answer.
        return await asyncio.shield(answer)

    async def _work(self) -> None:
        while self._wanted:
            batch = {read: self._wanted.pop(read) for read in tuple(self._wanted)[:BATCH]}
            try:
                found = await self._answers(tuple(batch))
            except Exception as error:  # noqa: BLE001 - passed to the readers, which would wait without end
                for answer in batch.values():
                    answer.set_exception(error)
                    # The reader may have gone.
                    answer.exception()
                continue
            for answer, events in zip(batch.values(), found, strict=True):
                answer.set_result(events)

    async def _answers(self, batch: Sequence[_Read]) -> list[list[LoggedEvent]]:
        pipeline = self._client.pipeline(transaction=False)
        for read in batch:
            key = self._keys.of("events", read.job_id)
            if read.is_backward:
                pipeline.xrevrange(key, count=read.count)
            else:
                pipeline.xrange(key, min=read.first, count=read.count)
        with redis_errors_named():
            entries: list[list[Entry]] = await pipeline.execute()
        return [events_of(each) for each in entries]
