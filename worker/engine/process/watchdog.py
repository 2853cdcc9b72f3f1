"""When a silent engine is a hung one. Pure: time comes in as numbers."""

from __future__ import annotations

from worker.engine.interface import EngineStats


class Watchdog:
    """Judges one host process by its heartbeats. All times are seconds on one monotonic clock."""

    def __init__(self, patience_s: float, now_s: float) -> None:
        self._patience_s = patience_s
        self._steps = -1
        self._work = 0
        self._heard_s = self._progress_s = self._looked_s = now_s

    def heard(self, stats: EngineStats, now_s: float) -> None:
        self._heard_s = now_s
        # While all that run wait for their text, so may those that wait for one of their slots.
        speaking = stats.active - stats.standing
        self._work = speaking + (0 if stats.standing and not speaking else stats.waiting)
        if self._work == 0 or stats.steps != self._steps:
            self._progress_s = now_s
        self._steps = stats.steps

    def verdict(self, now_s: float) -> str | None:
        """Why the engine should be killed, or None. To be asked several times per patience."""
        if now_s - self._looked_s > self._patience_s / 2:
            # We were stopped or starved ourselves, and the heartbeats of that time still lie in the socket.
            self._heard_s = self._progress_s = now_s
        self._looked_s = now_s
        if now_s - self._heard_s > self._patience_s:
            return f"no heartbeat for {now_s - self._heard_s:.1f} s"
        if self._work and now_s - self._progress_s > self._patience_s:
            return f"no step for {now_s - self._progress_s:.1f} s with {self._work} requests in the engine"
        return None
