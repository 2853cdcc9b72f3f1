"""What an engine did since the worker's start, over its restarts, and how fast it was lately."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from rhapsode.contract.operators.fleet import EngineState
from worker.engine.interface import EngineInfo, EngineStats

_LEVELS = ("active", "waiting", "standing", "codec_waiting_frames", "decoding", "longest_pause_s", "lacks_decoder")
"""Of the engine's statistics, what is no count."""

NOTHING = EngineStats(steps=0, frames=0, active=0, waiting=0, finished=0)


@dataclass(frozen=True, slots=True)
class EnginePace:
    """Between the last two looks. batch_fill: frames per step and slot. step_s: of a step, if it was busy throughout.

    None while there was nothing to measure. An engine without steps tells how many of its slots are taken now.
    """

    batch_fill: float | None = None
    step_s: float | None = None
    audio_s_per_s: float | None = None


class EngineMeter:
    """`look` every few seconds; everything else from any thread. An engine that was started again counts from zero."""

    def __init__(self, read: Callable[[], EngineStats], info: EngineInfo, read_deaths: Callable[[], int]) -> None:
        self.now = read
        self._read_deaths = read_deaths
        self._frame_s = info.samples_per_frame / info.sample_rate_hz
        self.slots = info.slots
        self._last = NOTHING
        self._last_s = time.monotonic()
        self.total = NOTHING
        """Counts since the start, up to the last look."""

        self.pace = EnginePace()

    @property
    def deaths(self) -> int:
        return self._read_deaths()

    def look(self) -> None:
        """Count what the engine did since the last look. One thread calls this."""
        now, now_s = self.now(), time.monotonic()
        was_restarted = now.progress < self._last.progress or now.finished < self._last.finished
        gained = _counted(operator.sub, now, NOTHING if was_restarted else self._last)
        self.pace = self._measured(gained, now, now_s - self._last_s)
        self.total = _counted(operator.add, gained, self.total)
        self._last, self._last_s = now, now_s

    def report(self) -> EngineState:
        now, total, pace = self.now(), self.total, self.pace
        return EngineState(
            active_requests=now.active,
            waiting_requests=now.waiting,
            batch_fill=_rounded(pace.batch_fill, 4),
            audio_s_per_s=_rounded(pace.audio_s_per_s, 3),
            step_ms=_rounded(pace.step_s and pace.step_s * 1000, 3),
            audio_s_total=round(total.frames * self._frame_s, 3),
            steps_total=total.steps,
            restarts=self.deaths,
        )

    def _measured(self, gained: EngineStats, now: EngineStats, seconds: float) -> EnginePace:
        if gained.progress <= 0 or seconds <= 0:
            return EnginePace()
        was_busy = self._last.active > 0 and now.active > 0
        speaking = gained.frames / max(1, gained.steps) if now.steps else now.active  # 0 without a decoder
        return EnginePace(
            batch_fill=min(1.0, speaking / self.slots),
            step_s=seconds / gained.steps if was_busy and gained.steps else None,
            audio_s_per_s=gained.frames * self._frame_s / seconds,
        )


def _counted(joined: Callable[[float, float], float], one: EngineStats, other: EngineStats) -> EngineStats:
    """What becomes of two counts; levels are the first one's."""
    counts = (each.name for each in fields(EngineStats) if each.name not in _LEVELS)
    return replace(one, **{name: joined(getattr(one, name), getattr(other, name)) for name in counts})


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
