"""The event log of a job: what the functions in Redis appended, in order. Read only; entries outlive no job."""

from __future__ import annotations

from typing import cast

import redis

from storage.database.keys import RedisKeys
from storage.ids import JobId
from storage.job_store.following.event import Entry, LoggedEvent, check_event_id, events_of


class EventLog:
    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def read(self, job_id: JobId, after: str = "0") -> list[LoggedEvent]:
        """Everything kept after the event `after` (an event id; "0" for the beginning).

        Raises `ValueError` if `after` is no event id.
        """
        check_event_id(after)
        entries = cast("list[Entry]", self._redis.xrange(self._keys.of("events", job_id), min=f"({after}"))
        return events_of(entries)
