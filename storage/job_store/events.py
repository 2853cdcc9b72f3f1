"""The event log of a job: what the functions in Redis appended, in order. Read only; entries outlive no job."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import redis
import redis.asyncio

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.ids import JobId

FIRST_EVENT = "job.created"
"""Of every job; a log that begins with another one has lost its beginning."""

COUNTERS = ("segments_total", "segments_done", "chars_done", "audio_ms_done")
FOLLOW_LIMIT = 200
"""Events one `follow` call returns at most; the next call continues after the last one."""

_EVENT_ID = re.compile(r"[0-9]{1,19}(-[0-9]{1,19})?")
_Entry = tuple[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One entry of a job's event log. `id` is the Redis stream id; `data` is flat JSON."""

    id: str
    type: str
    at_ms: int
    data: dict[str, str | int | float | None]


class EventLog:
    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def read(self, job_id: JobId, after: str = "0") -> list[JobEvent]:
        """Everything kept after the event `after` (an event id; "0" for the beginning).

        Raises `ValueError` if `after` is no event id.
        """
        _check_event_id(after)
        with redis_errors_named():
            entries = cast("list[_Entry]", self._redis.xrange(self._keys.events(job_id), min=f"({after}"))
        return _decode(entries)


class AsyncEventLog:
    """The log as those see it who follow it."""

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._stopping = asyncio.Event()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """From now on no caller waits: each is told that nothing came."""
        self._stopping.set()

    async def follow(self, job_id: JobId, after: str, block_s: float) -> list[JobEvent]:
        """The events after `after`, waiting up to `block_s` for the first; empty when none came.

        `block_s` has to stay below the client's socket timeout. Waiting holds one connection. Raises `ValueError`
        if `after` is no event id.
        """
        _check_event_id(after)
        key = self._keys.events(job_id)
        block_ms = 1 if self.is_stopping else max(1, round(block_s * 1000))
        read = asyncio.ensure_future(self._redis.xread({key: after}, count=FOLLOW_LIMIT, block=block_ms))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((read, stop), return_when=asyncio.FIRST_COMPLETED)
            if not read.done() and block_ms > 1:
                return []
            with redis_errors_named():
                return _decode(_entries_of(await read, key))
        finally:
            read.cancel()
            stop.cancel()

    async def begins_behind(self, job_id: JobId, after: str) -> bool:
        """Whether events behind `after` are not kept any more. Raises `ValueError` if `after` is no event id."""
        _check_event_id(after)
        with redis_errors_named():
            first = cast("list[_Entry]", await self._redis.xrange(self._keys.events(job_id), count=1))
        if not first:
            return False
        first_id, fields = first[0]
        return fields["type"] != FIRST_EVENT and _order(first_id) > _order(after)


def _order(event_id: str) -> tuple[int, int]:
    milliseconds, _, number = event_id.partition("-")
    return int(milliseconds), int(number or 0)


def _check_event_id(text: str) -> None:
    """Ids come back from browsers (Last-Event-ID), so they are checked before Redis sees them."""
    if not _EVENT_ID.fullmatch(text):
        raise ValueError(f"not an event id: {text!r}")


def _entries_of(reply: object, key: str) -> list[_Entry]:
    """XREAD answers a list of (key, entries) under RESP2 and a map of key to entries (in pages) under RESP3."""
    if not reply:
        return []
    if isinstance(reply, Mapping):
        pages = cast("Mapping[str, list[list[_Entry]]]", reply)[key]
        return [entry for page in pages for entry in page]
    return cast("list[tuple[str, list[_Entry]]]", reply)[0][1]


def _decode(entries: Iterable[_Entry]) -> list[JobEvent]:
    return [_decode_entry(event_id, fields) for event_id, fields in entries]


def _decode_entry(event_id: str, fields: dict[str, str]) -> JobEvent:
    data: dict[str, str | int | float | None] = {"state": fields["state"], "phase": fields["phase"] or None}
    data.update((name, int(fields[name])) for name in COUNTERS)
    if fields["more"]:
        data.update(json.loads(fields["more"]))
    return JobEvent(id=event_id, type=fields["type"], at_ms=int(fields["at_ms"]), data=data)
