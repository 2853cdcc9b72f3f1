"""Whether Redis still knows what it once knew: it counts, and its count lies in the object store as well.

The count goes up in Redis first and in the store afterwards. So Redis is behind the store only after a loss: a restored
backup, a file without its last second, a lagging replica. Then `hold` stops all claims until the state was reconciled
(`storage.recovery.reconcile`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import redis
from ulid import ULID

from storage.database.keys import RedisKeys
from storage.errors import ArtifactCorrupt
from storage.objects import keys
from storage.objects.store import ArtifactStore, ObjectEntry


class StateFinding(enum.StrEnum):
    """NEW: neither Redis nor the store was counted in before. BEHIND: an older copy of this very state. STRANGE: Redis
    is empty, or another one, while the store belongs to a system.
    """

    WHOLE = "whole"
    NEW = "new"
    BEHIND = "behind"
    STRANGE = "strange"


_NAME = re.compile(r"(\d{16})-([0-9a-z]{26})")


@dataclass(frozen=True, slots=True)
class _Mark:
    """state: drawn once. position: grows, over all states of one store."""

    position: int
    state: str


class StateGuard:
    """Every method raises `StoreUnavailable`, of Redis as of the object store, and `look` and `settle` raise
    `ArtifactCorrupt` for a count in the store that is none.
    """

    def __init__(self, redis: redis.Redis, artifacts: ArtifactStore, key_prefix: str) -> None:
        self._redis = redis
        self._artifacts = artifacts
        self._key_prefix = key_prefix
        self._keys = RedisKeys(key_prefix)
        self._counted: tuple[str, ...] | None = None

    def look(self) -> StateFinding:
        # The store first: what is counted between the two questions makes Redis newer, never older.
        copy = self._copied()
        mark = self._mark()
        match mark, copy:
            case None, None:
                return StateFinding.NEW
            case None, _:
                return StateFinding.STRANGE
            case _, None:
                return StateFinding.WHOLE
            case _Mark(), _Mark() if mark.state == copy.state:
                return StateFinding.WHOLE if mark.position >= copy.position else StateFinding.BEHIND
            case _:
                return StateFinding.STRANGE

    def count_on(self) -> None:
        """One further, in Redis and then in the store, if anything was accepted or claimed since this object did it."""
        seen = self._progress()
        if seen != self._counted:
            self._advance(0)
            self._counted = seen

    def settle(self) -> None:
        """This Redis is the system's state from now on, and what it holds is all there is: claims are open."""
        copy = self._copied()
        if copy is not None and self._redis.hget(self._keys.single("mark"), "state") != copy.state:
            # Should the lost one come back, it is a strange one.
            self._redis.hset(self._keys.single("mark"), "state", _new_state())
        self._advance(copy.position if copy else 0)
        self.release()

    def counted_at_s(self) -> float:
        """Unix time of the store's count, 0 without one. A Redis with this count or a newer one knows each job that
        was accepted well before.
        """
        return max((entry.modified_at_s for entry in self._entries()), default=0.0)

    def server_run(self) -> str:
        """Another one whenever Redis was started again, or another server has taken its place."""
        return str(cast("dict[str, object]", self._redis.info("server"))["run_id"])

    def hold(self, why: str) -> bool:
        """Nothing is claimed until `release`. Whether it is held since now."""
        return bool(self._redis.set(self._keys.single("held"), why, nx=True))

    def release(self) -> None:
        self._redis.delete(self._keys.single("held"))

    def held(self) -> str | None:
        """Why nothing is claimed; None if claims are open."""
        return cast("str | None", self._redis.get(self._keys.single("held")))

    def _advance(self, least: int) -> None:
        """Beyond `least` in any case."""
        key = self._keys.single("mark")
        self._redis.hsetnx(key, "state", _new_state())
        position = int(str(self._redis.hincrby(key, "position", 1)))
        if position <= least:
            position = int(str(self._redis.hincrby(key, "position", least + 1 - position)))
        state = str(self._redis.hget(key, "state"))
        self._copy(_Mark(position, state))

    def _copy(self, mark: _Mark) -> None:
        """Objects are never overwritten: a new one, and those before it go."""
        key = keys.state_mark(self._key_prefix, mark.position, mark.state)
        self._artifacts.put(key, b"")
        for entry in self._entries():
            if entry.key < key:
                self._artifacts.delete(entry.key)

    def _progress(self) -> tuple[str, ...]:
        """Grows with every job that is accepted and every item that is claimed."""
        accepted = cast("dict[str, str]", self._redis.hgetall(self._keys.single("flow")))
        claimed = cast("str | None", self._redis.get(self._keys.single("fence")))
        return (claimed or "", *(f"{name}={value}" for name, value in sorted(accepted.items())))

    def _mark(self) -> _Mark | None:
        found = cast("dict[str, str]", self._redis.hgetall(self._keys.single("mark")))
        return _Mark(int(found.get("position", 0)), found["state"]) if found else None

    def _copied(self) -> _Mark | None:
        newest = max((entry.key for entry in self._entries()), default=None)
        if newest is None:
            return None
        name = _NAME.fullmatch(newest.removeprefix(keys.state_marks(self._key_prefix)))
        if name is None:
            raise ArtifactCorrupt(f"{newest} is no count of a state")
        return _Mark(int(name[1]), name[2])

    def _entries(self) -> Iterator[ObjectEntry]:
        return self._artifacts.list(keys.state_marks(self._key_prefix))


def _new_state() -> str:
    return str(ULID()).lower()
