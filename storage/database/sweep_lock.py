"""Which of several janitors sweeps: a lock in Redis that its owner renews. Another janitor gets it once it expires."""

from __future__ import annotations

from contextlib import suppress

import redis
from redis.exceptions import LockNotOwnedError


class JanitorLock:
    """Two owners for a moment do no harm, since all sweeps are compare-and-set; the lock only saves work."""

    def __init__(self, client: redis.Redis, key_prefix: str, ttl_s: float) -> None:
        self._lock = client.lock(f"{key_prefix}:janitor", timeout=ttl_s, blocking=False)

    def renew(self) -> bool:
        """Whether the lock is ours for another `ttl_s`. Raises `StoreUnavailable`."""
        try:
            return self._lock.reacquire() if self._lock.owned() else self._lock.acquire()
        except LockNotOwnedError:
            return False  # it ran out between the two calls; the next round asks again

    def release(self) -> None:
        """Let the next one in at once. Does nothing if the lock is not ours. Raises `StoreUnavailable`."""
        with suppress(LockNotOwnedError):
            if self._lock.owned():
                self._lock.release()
