"""One client process of a load: when each request begins, and what came of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from rhapsode.bench.children import line_of_parent, report_to_parent
from rhapsode.bench.server.listening import CountedWindow, Ear, RequestFailed
from rhapsode.bench.server.orders import Language, SpeechTarget, TextBank, TextChoice, TextLevel
from rhapsode.bench.server.targets import TARGETS

Pattern = Literal["poisson", "even"]


def arrivals(pattern: Pattern, rate: float, seconds: float, seed: int) -> list[float]:
    """In seconds from the beginning, all of them below `seconds`, in order. rate: of requests a second.

    The same for the same seed; of two lengths, the shorter is the beginning of the longer.
    """
    if pattern == "even":
        count = int(seconds * rate)
        return [number / rate for number in range(count + 1) if number / rate < seconds]
    chance = random.Random(f"{seed}/{rate}")
    due_s: list[float] = []
    at_s = chance.expovariate(rate)
    while at_s < seconds:
        due_s.append(at_s)
        at_s += chance.expovariate(rate)
    return due_s


@dataclass(frozen=True, slots=True)
class OpenLoad:
    """Requests come by the clock. rate: a second, of all clients together."""

    rate: float
    pattern: Pattern = "poisson"
    kind: Literal["open"] = "open"

    @property
    def name(self) -> str:
        return f"{self.rate:g} a second"


@dataclass(frozen=True, slots=True)
class ClosedLoad:
    """So many requests are always in flight, of all clients together."""

    streams: int
    kind: Literal["closed"] = "closed"

    @property
    def name(self) -> str:
        return f"{self.streams} streams" if self.streams > 1 else "1 stream"


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """Requests arrive as in a recorded log. due_s: from the stage's beginning, in order, of all clients together."""

    label: str
    due_s: tuple[float, ...]
    kind: Literal["recorded"] = "recorded"

    @property
    def name(self) -> str:
        return f"as in {self.label}"


Load = OpenLoad | ClosedLoad | RecordedLoad


@dataclass(frozen=True, slots=True)
class ClientTask:
    """The part of client `which` of `of` in one stage. All times are in seconds from its beginning.

    warm_up_s: what begins before that is not counted. ends_s: nothing begins after it. timeout_s: for one request,
    from its connection on.
    """

    target: str
    speaking: SpeechTarget
    texts: TextChoice
    load: Load
    which: int
    of: int
    warm_up_s: float
    ends_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ClientReady:
    """The client has loaded what it needs and waits for the beginning."""

    kind: Literal["ready"] = "ready"


@dataclass(frozen=True, slots=True)
class MeasuredRequest:
    """One request. Times are seconds; those of the answer from the moment it was sent; None: it did not come to that.

    due_s: when it was to begin, from the stage's beginning. is_counted: it began behind the warm-up. lag_s: how much
    later its client began it. connect_s: until its connection stood. first_byte_s, playable_s, audible_s: to the first
    byte, the first sample, and the first sound as it is played. total_s: to the end. audio_s: of speech;
    window_audio_s: of it within the measured time. gaps, gap_s, longest_gap_s: of a listener who plays at once;
    buffer_s: the patience with which there would have been none. error: None if it arrived whole.
    """

    number: int
    level: TextLevel
    language: Language
    chars: int
    due_s: float
    is_counted: bool
    lag_s: float = 0.0
    connect_s: float | None = None
    first_byte_s: float | None = None
    playable_s: float | None = None
    audible_s: float | None = None
    total_s: float | None = None
    audio_s: float = 0.0
    window_audio_s: float = 0.0
    gaps: int = 0
    gap_s: float = 0.0
    longest_gap_s: float = 0.0
    buffer_s: float = 0.0
    error: str | None = None
    kind: Literal["outcome"] = "outcome"


@dataclass(frozen=True, slots=True)
class Stall:
    """The longest that the client's own loop came too late in the last second: what it measures is late by as much."""

    worst_s: float
    kind: Literal["stall"] = "stall"


Message = ClientReady | MeasuredRequest | Stall


PAUSE_AFTER_FAILURE_S = 0.5
"""Of a stream of a closed loop, so that a server that refuses at once is not asked thousands of times a second."""

_LOOK_EVERY_S = 0.02
_TELL_EVERY_S = 1.0


class Client:
    """begins_s: of the stage, on the monotonic clock, which all processes of a machine share."""

    def __init__(self, task: ClientTask, begins_s: float, say: Callable[[Message], None]) -> None:
        self._task = task
        self._begins_s = begins_s
        self._say = say
        self._target = TARGETS[task.target](task.speaking)
        self._texts = TextBank(task.texts)
        self._window = CountedWindow(begins_s + task.warm_up_s, begins_s + task.ends_s)

    async def run(self) -> None:
        """Until the last answer has come or was waited for long enough."""
        watching = asyncio.create_task(self._watch_itself())
        try:
            match self._task.load:
                case OpenLoad(rate, pattern):
                    await self._run_open(arrivals(pattern, rate, self._task.ends_s, self._task.texts.seed))
                case RecordedLoad(_, due_s):
                    await self._run_open([due for due in due_s if due < self._task.ends_s])
                case ClosedLoad():
                    await self._run_closed(self._task.load)
        finally:
            watching.cancel()

    async def _run_open(self, due: Sequence[float]) -> None:
        task = self._task
        async with asyncio.TaskGroup() as requests:
            for number in range(task.which, len(due), task.of):
                await self._sleep_until(due[number])
                requests.create_task(self._request(number, due[number]))

    async def _run_closed(self, load: ClosedLoad) -> None:
        async with asyncio.TaskGroup() as streams:
            for first in range(self._task.which, load.streams, self._task.of):
                streams.create_task(self._stream(first, load.streams))

    async def _stream(self, number: int, streams: int) -> None:
        """One request after the other. They begin spread over the warm-up: together they would stay together."""
        due_s = self._task.warm_up_s / 2 * number / streams
        await self._sleep_until(due_s)
        while (due_s := max(due_s, self._now_s())) < self._task.ends_s:
            if not await self._request(number, due_s):
                await asyncio.sleep(PAUSE_AFTER_FAILURE_S)
            number += streams

    async def _request(self, number: int, due_s: float) -> bool:
        """Whether it arrived whole."""
        order = self._texts.order(number)
        ear = Ear(self._window)
        began_s = time.monotonic()
        error: str | None = None
        try:
            async with asyncio.timeout(self._task.timeout_s):
                await self._target.speak(order, ear)
        except TimeoutError:
            error = f"not whole after {self._task.timeout_s:g} s"
        except RequestFailed as failure:
            error = str(failure)
        playback, since_s = ear.playback, ear.sent_s or began_s
        self._say(
            MeasuredRequest(
                number=number,
                level=order.level,
                language=order.language,
                chars=len(order.text),
                due_s=_rounded(due_s),
                is_counted=due_s >= self._task.warm_up_s,
                lag_s=_rounded(began_s - self._begins_s - due_s),
                connect_s=_after(began_s, ear.sent_s),
                first_byte_s=_after(since_s, ear.first_byte_s),
                playable_s=_after(since_s, playback.first_s),
                audible_s=_after(since_s, ear.audible_s),
                total_s=_after(since_s, ear.end_s) if error is None else None,
                audio_s=_rounded(playback.audio_s),
                window_audio_s=_rounded(ear.window_audio_s),
                gaps=playback.gaps,
                gap_s=_rounded(playback.buffer_s),
                longest_gap_s=_rounded(playback.longest_gap_s),
                buffer_s=_rounded(playback.buffer_s),
                error=error,
            )
        )
        return error is None

    async def _watch_itself(self) -> None:
        worst_s, told_s = 0.0, time.monotonic()
        while True:
            before_s = time.monotonic()
            await asyncio.sleep(_LOOK_EVERY_S)
            now_s = time.monotonic()
            worst_s = max(worst_s, now_s - before_s - _LOOK_EVERY_S)
            if now_s - told_s >= _TELL_EVERY_S:
                self._say(Stall(_rounded(worst_s)))
                worst_s, told_s = 0.0, now_s

    def _now_s(self) -> float:
        return time.monotonic() - self._begins_s

    async def _sleep_until(self, due_s: float) -> None:
        await asyncio.sleep(max(0.0, due_s - self._now_s()))


def _after(since_s: float, moment_s: float | None) -> float | None:
    return None if moment_s is None else _rounded(moment_s - since_s)


def _rounded(seconds: float) -> float:
    return round(seconds, 6)


def main() -> None:
    task = TypeAdapter(ClientTask).validate_json(line_of_parent())
    report_to_parent(ClientReady())
    asyncio.run(Client(task, float(line_of_parent()), report_to_parent).run())


if __name__ == "__main__":
    main()
