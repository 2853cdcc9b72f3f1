"""Requests for an engine in this process: a number of them always in flight, and one whose first audio is awaited."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from worker.engine.errors import RequestCancelled
from worker.engine.interface import Conditioning, Engine, OnAudio, Speech, SpeechRequest, Urgency

# Longer than any reader of a text wants to wait, shorter than what a slot holds.
_LONG_FRAMES = 900
_HEARD_FRAMES = 60
_NOT_COUNTED = 3
_MOST_WARM_UP_S = 10.0
_FRAME_S = 0.08


class NothingEnded(Exception):
    """No request came to its end in the time that there was."""


@dataclass(frozen=True, slots=True)
class Window:
    """Audio and requests that were delivered in `seconds`."""

    seconds: float
    requests: int
    audio_s: float

    @property
    def audio_s_per_s(self) -> float:
        return self.audio_s / self.seconds


@dataclass(frozen=True, slots=True)
class Ended:
    request_id: str
    submitted_s: float
    ended_s: float
    future: Future[Speech]


class Driver:
    """Requests of random texts and lengths for one engine. frames: least and most of a request."""

    def __init__(self, engine: Engine, voice: Conditioning, words: Sequence[str], frames: tuple[int, int]) -> None:
        self.engine = engine
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._voice = voice
        self._words = words
        self._frames = frames
        self._random = random.Random(1)
        self._number = 0
        self._in_flight: set[str] = set()

    def submit(
        self, max_frames: int | None = None, on_audio: OnAudio | None = None, urgency: Urgency = Urgency.BULK
    ) -> str:
        """The request's id."""
        self._number += 1
        request_id = str(self._number)
        num_frames = max_frames or self._random.randint(*self._frames)
        request = SpeechRequest(
            request_id,
            self._text(num_frames),
            self._voice,
            sampling=self.engine.info.default_sampling,
            seed=self._number,
            max_frames=num_frames,
            urgency=urgency,
        )
        submitted_s = time.perf_counter()
        future = self.engine.submit(request, on_audio)
        self._in_flight.add(request_id)
        future.add_done_callback(
            lambda done: self._ended.put(Ended(request_id, submitted_s, time.perf_counter(), done))
        )
        return request_id

    def next_ended(self, timeout_s: float | None = None) -> Ended:
        """Raises `queue.Empty`."""
        ended = self._ended.get(timeout=timeout_s)
        self._in_flight.discard(ended.request_id)
        return ended

    def has_ended(self) -> bool:
        """Whether `next_ended` has one at once."""
        return not self._ended.empty()

    def finish(self) -> None:
        """Waits for all that is in flight. Raises what a request ends with, unless it was cancelled."""
        while self._in_flight:
            with suppress(RequestCancelled):
                self.next_ended().future.result()

    def stop(self) -> None:
        """Cancels all that is in flight, and waits for it."""
        for request_id in self._in_flight:
            self.engine.cancel(request_id)
        self.finish()

    def _text(self, num_frames: int) -> str:
        """About as many tokens as that much speech has; a random vocabulary spells letter by letter."""
        start = self._random.randrange(max(1, len(self._words) - 60))
        return " ".join(self._words[start : start + 60])[: min(100, max(8, num_frames // 3))].strip()


def warm_up(driver: Driver, requests: int = 8) -> None:
    for _ in range(requests):
        driver.submit(max_frames=8)
    driver.finish()


def closed_loop(
    driver: Driver, streams: int, window_s: float, most_s: float, look: Callable[[int], None] = lambda _: None
) -> Window:
    """The window begins once as many requests have ended as there are streams, and some seconds have passed.

    most_s: of all of it; the window ends earlier then. look: is called with the number of requests so far. Raises
    NothingEnded, and whatever a request ends with.
    """
    gives_up_s = time.perf_counter() + most_s
    begins_s = time.perf_counter() + min(_MOST_WARM_UP_S, window_s / 3)
    for _ in range(streams):
        driver.submit()
    ended, frames, requests = 0, 0, 0
    started_s = last_s = 0.0
    while not requests or last_s - started_s < window_s:
        try:
            done = driver.next_ended(max(0.0, gives_up_s - time.perf_counter()))
        except Empty:
            break
        num_frames = len(done.future.result().frames)
        driver.submit()
        ended += 1
        if not started_s:
            if done.ended_s > begins_s and ended >= streams:
                started_s = done.ended_s
            continue
        frames += num_frames
        requests += 1
        last_s = done.ended_s
        look(requests)
    driver.stop()
    if not requests:
        raise NothingEnded(f"fewer than {streams} requests ended in {most_s:.0f} s, too few to measure")
    return Window(last_s - started_s, requests, frames * _FRAME_S)


def first_audio_ms(driver: Driver, running: int, samples: int, most_s: float) -> list[float]:
    """From submit to the first samples of each of `samples` interactive requests, beside `running` that are heard.

    Those who run are long enough not to end before the last sample; who was heard is cancelled. Fewer samples than
    asked for where the time was over. Raises NothingEnded.
    """
    gives_up_s = time.perf_counter() + most_s
    for _ in range(running):
        driver.submit(_LONG_FRAMES, lambda _: None)
    time.sleep(0.6 if running else 0.0)
    waits_ms: list[float] = []
    for number in range(samples + _NOT_COUNTED):
        heard: SimpleQueue[float] = SimpleQueue()
        submitted_s = time.perf_counter()
        request_id = driver.submit(
            _HEARD_FRAMES, lambda _, heard=heard: heard.put(time.perf_counter()), Urgency.INTERACTIVE
        )
        try:
            first_s = heard.get(timeout=max(0.0, gives_up_s - time.perf_counter()))
        except Empty:
            break
        if number >= _NOT_COUNTED:
            waits_ms.append(1e3 * (first_s - submitted_s))
        driver.engine.cancel(request_id)
        time.sleep(0.02)
    driver.stop()
    if not waits_ms:
        raise NothingEnded(f"no first audio in {most_s:.0f} s")
    return waits_ms
