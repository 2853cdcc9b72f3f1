"""Openings of jobs that are heard while they are spoken: who listens here, and what has come of each.

An opening is an attempt at a job's first segment. It is made in chunks, which cost an engine more than one piece at the
end, where somebody listens to the job, or where no other job is spoken: for a listener who comes a moment after it.
Nothing of it is stored; what becomes of the attempt is the business of those who check and store it.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from storage.ids import JobId
from worker.engine.interface import OnAudio, SpeechChunk


@dataclass(frozen=True, slots=True)
class Opening:
    """fence: of the lease. attempt: its number. text: as it is spoken."""

    fence: int
    attempt: int
    text: str
    voice: str
    language: str


class OpeningListener(Protocol):
    """Called from threads that make the audio of others as well: it neither waits nor raises."""

    def begun(self, opening: Opening) -> None: ...

    def made(self, chunk: SpeechChunk) -> None: ...

    def over(self, *, is_whole: bool) -> None:
        """is_whole: the engine has said all of it."""
        ...


@dataclass(slots=True)
class _Spoken:
    """An opening that is under way. chunks: all of it so far, which is one segment at most."""

    opening: Opening
    chunks: list[SpeechChunk] = field(default_factory=list[SpeechChunk])


class Openings:
    """Of one worker. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[JobId, list[OpeningListener]] = defaultdict(list)
        self._spoken: dict[JobId, _Spoken] = {}
        self._speaking: Counter[JobId] = Counter()

    def listen(self, job: JobId, listener: OpeningListener) -> None:
        """From now on, and what there is of an opening that is under way."""
        with self._lock:
            self._listeners[job].append(listener)
            spoken = self._spoken.get(job)
            if spoken is not None:
                listener.begun(spoken.opening)
                for chunk in spoken.chunks:
                    listener.made(chunk)

    def leave(self, job: JobId, listener: OpeningListener) -> None:
        with self._lock:
            self._listeners[job].remove(listener)
            if not self._listeners[job]:
                del self._listeners[job]

    def is_listened_to(self, job: JobId) -> bool:
        with self._lock:
            return job in self._listeners

    @contextmanager
    def speaking(self, job: JobId, opening: Opening | None) -> Generator[OnAudio | None]:
        """Around every attempt at any segment of the job. opening: None of one that is not heard before it is stored.

        Gives what the engine's chunks are for; None where it need not make any.
        """
        spoken = self._begin(job, opening)
        is_whole = False
        try:
            yield None if spoken is None else lambda chunk: self._add(job, spoken, chunk)
            is_whole = True
        finally:
            self._end(job, spoken, is_whole=is_whole)

    def _begin(self, job: JobId, opening: Opening | None) -> _Spoken | None:
        with self._lock:
            self._speaking[job] += 1
            is_alone = len(self._speaking) == 1
            if opening is None or not (is_alone or job in self._listeners):
                return None
            spoken = self._spoken[job] = _Spoken(opening)
            for listener in self._listeners.get(job, ()):
                listener.begun(opening)
            return spoken

    def _add(self, job: JobId, spoken: _Spoken, chunk: SpeechChunk) -> None:
        with self._lock:
            spoken.chunks.append(chunk)
            if self._spoken.get(job) is spoken:
                for listener in self._listeners.get(job, ()):
                    listener.made(chunk)

    def _end(self, job: JobId, spoken: _Spoken | None, *, is_whole: bool) -> None:
        with self._lock:
            self._speaking[job] -= 1
            if not self._speaking[job]:
                del self._speaking[job]
            if spoken is None or self._spoken.get(job) is not spoken:
                return
            del self._spoken[job]
            for listener in self._listeners.get(job, ()):
                listener.over(is_whole=is_whole)
