"""Items that were given up, newest first: what a worker died of, what no attempt could speak, what cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import redis
from pydantic import TypeAdapter

from storage.database.keys import RedisKeys
from storage.errors import StorageError
from storage.ids import JobId, TenantId


class DeadLetterUnknown(StorageError):
    """There is no such entry (any more)."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """id: of the entry, in order of time. attempts: that were charged to the item."""

    id: str
    at_ms: int
    job: JobId
    tenant: TenantId
    item: str
    code: str
    detail: str
    attempts: int


_LETTER = TypeAdapter(DeadLetter)


class DeadLetters:
    """Safe to share between threads, as the client is. The list keeps the last ten thousand or so."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._key = RedisKeys(key_prefix).single("dead")

    def list(self, after: str | None, limit: int) -> tuple[DeadLetter, ...]:
        """Newest first, older than the entry `after`. Raises `StoreUnavailable`."""
        bound = f"({after}" if after else "+"
        rows = self._redis.xrevrange(self._key, bound, "-", count=limit)
        return tuple(_dead_letter(name, fields) for name, fields in cast("list[tuple[str, dict[str, str]]]", rows))

    def count_since(self, since_ms: int) -> int:
        """How many of the list were given up since then, by the clock of Redis. Raises `StoreUnavailable`."""
        return len(cast("list[object]", self._redis.xrange(self._key, str(since_ms), "+")))

    def get(self, name: str) -> DeadLetter:
        """Raises `DeadLetterUnknown` or `StoreUnavailable`."""
        rows = cast("list[tuple[str, dict[str, str]]]", self._redis.xrange(self._key, name, name))
        if not rows:
            raise DeadLetterUnknown(f"there is no dead letter {name}")
        return _dead_letter(*rows[0])

    def forget(self, name: str) -> None:
        """An operator has handled it. Raises `DeadLetterUnknown` or `StoreUnavailable`."""
        if not self._redis.xdel(self._key, name):
            raise DeadLetterUnknown(f"there is no dead letter {name}")


def _dead_letter(name: str, fields: dict[str, str]) -> DeadLetter:
    return _LETTER.validate_python({"id": name, **fields})
