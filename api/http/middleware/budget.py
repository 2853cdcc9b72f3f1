"""So many pieces a second: a token bucket."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """burst: so many may come at once. What one turn takes may overdraw it; `wait_s` says for how long it is empty."""

    __slots__ = ("_burst", "_clock", "_per_s", "_since_s", "_tokens")

    def __init__(self, per_s: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._burst = self._tokens = burst
        self._clock = clock
        self._since_s = clock()

    def take(self, number: int) -> None:
        self._refill()
        self._tokens -= number

    def wait_s(self) -> float:
        self._refill()
        return max(0.0, -self._tokens / self._per_s)

    def _refill(self) -> None:
        now_s = self._clock()
        self._tokens = min(self._burst, self._tokens + (now_s - self._since_s) * self._per_s)
        self._since_s = now_s
