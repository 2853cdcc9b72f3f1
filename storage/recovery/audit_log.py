"""What the last complete audit found, kept where every process can show it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import redis
from pydantic import TypeAdapter

from storage.database.keys import RedisKeys
from storage.job_store.counter_audit import CounterMismatch


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """at_ms: Unix time of the audit's end, by the clock of who counted. differences: none in a sound system."""

    at_ms: int
    differences: tuple[CounterMismatch, ...]


_RECORD = TypeAdapter(AuditRecord)


class AuditLog:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._key = RedisKeys(key_prefix).single("audited")

    def note(self, drift: tuple[CounterMismatch, ...]) -> AuditRecord:
        """Keep this as the last result. Raises `StoreUnavailable`."""
        record = AuditRecord(round(time.time() * 1000), drift)
        self._redis.set(self._key, _RECORD.dump_json(record))
        return record

    def last(self) -> AuditRecord | None:
        """Raises `StoreUnavailable`."""
        text = cast("str | None", self._redis.get(self._key))
        return decode_audit(text) if text else None


def decode_audit(text: str) -> AuditRecord:
    return _RECORD.validate_json(text)
