"""What tenants have had made, by day and API key, as the functions in Redis count it when they commit a segment.

Each commit is counted once, whatever happens to its worker, and stays counted: neither a later cancellation nor the
deletion of the job takes anything back. Days are of UTC, by the Redis server's clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta

import redis

from storage.database.hashes import read_hashes
from storage.database.keys import RedisKeys
from storage.ids import TenantId

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Amounts:
    """segments: spoken or copied. characters: of their text. audio_ms: of what was made, copies included.

    cached_audio_ms: of it, copied from an earlier job. engine_ms: time an engine spent, also on attempts that were
    rejected, and on voices.
    """

    segments: int = 0
    characters: int = 0
    audio_ms: int = 0
    cached_audio_ms: int = 0
    engine_ms: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(*(getattr(self, name) + getattr(other, name) for name in _NAMES))


_NAMES = tuple(each.name for each in fields(Amounts))


@dataclass(frozen=True, slots=True)
class DayUsage:
    """key_id: the API key's; "" for this machine's own user and for keys that stand in the settings."""

    day: date
    key_id: str
    amounts: Amounts


class UsageLedger:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def read(self, tenant: TenantId, first: date, last: date) -> tuple[DayUsage, ...]:
        """Days from first to last, both included, that have any; by day, then by key. Raises `StoreUnavailable`."""
        days = [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
        rows = read_hashes(self._redis, (self._keys.of("usage", tenant, str((day - _EPOCH).days)) for day in days))
        return tuple(usage for day, row in zip(days, rows, strict=True) for usage in _by_key(day, row))


def total(usages: Iterable[DayUsage]) -> Amounts:
    return sum((usage.amounts for usage in usages), Amounts())


def _by_key(day: date, row: Mapping[str, str]) -> list[DayUsage]:
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for entry, number in row.items():
        key_id, _, name = entry.rpartition(":")
        counts[key_id][name] = int(number)
    return [DayUsage(day, key_id, Amounts(**counts[key_id])) for key_id in sorted(counts)]
