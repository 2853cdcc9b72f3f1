"""A stream as its listener's request has it: chunks out, text in, wherever it is spoken at the time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self, assert_never

from api.live.accounts import Account
from api.live.errors import LISTENER_TOO_SLOW, LiveBroken
from api.live.kept import KeptStream
from api.live.link import WorkerLink
from storage.live.heard import HeardClock
from storage.live.messages import (
    ENGINE_DIED,
    MAX_EXTENSION_CHARS,
    RESUMABLE,
    Audio,
    Consumed,
    ExtendStream,
    FromWorker,
    Hello,
    LiveLoad,
    Open,
    Opened,
    OpenRefused,
    SegmentBegins,
    SegmentSpoken,
    StreamDone,
    StreamFailed,
    encode_message,
    split_audio,
)
from storage.live.orders import LiveOrder

CONSUMED_STEP_S = 0.25
"""Of audio, taken between two messages that say so."""

LONGEST_CHUNK_S = 2.0
"""Of the time an engine is counted for one chunk."""

LISTENER_PATIENCE_S = 30.0
"""For which a listener may leave what is there untaken."""

LISTENER_GRACE_S = 60.0
"""In which a listener of whatever pace is waited for: a phone between two cells, a player that is paused."""


@dataclass(frozen=True, slots=True)
class LiveChunk:
    """pcm: s16le, mono. segment: counted from 0. is_pause: silence between segments, which no engine made."""

    pcm: bytes
    segment: int
    is_pause: bool


class Unanswered(Enum):
    """Why a worker has not said whether it takes a stream."""

    LOST = auto()
    SILENT = auto()


Answer = Opened | OpenRefused | Unanswered


class StreamPlace:
    """The stream at one worker. answer: what the worker said to it. before: samples that came from others."""

    def __init__(self, stream: HeardStream, link: WorkerLink, wire_id: str, before: int) -> None:
        self.link = link
        self.wire_id = wire_id
        self.before = before
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.stream = stream

    def take(self, head: FromWorker, payload: bytes) -> None:
        if isinstance(head, Opened | OpenRefused):
            if isinstance(head, Opened) and self.link.hello is not None:
                # At once: audio may stand behind it already, before the task that waits for the answer is awake.
                self.stream.settle_at(self.link.hello)
            self.settle(head)
        else:
            self.stream.take(self, head, payload)

    def lead_s(self) -> float:
        return self.stream.lead_s(asyncio.get_running_loop().time())

    def lose(self) -> None:
        if self.answer.done():
            self.stream.lose(self, "worker_lost")
        else:
            self.settle(Unanswered.LOST)

    def settle(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class HeardStream:
    """Leaving it as a context manager ends it, wherever it is. For the event loop and one reader.

    outcome: "" while it goes on, then `done`, `cancelled` or the code with which it broke. `attempts` without a sample:
    workers that had no room. ttfa_s: from the call to the first audio; None before that. on_lost: it needs another
    worker, for this reason. on_over: its last chunk came, or it broke.
    """

    def __init__(
        self,
        stream_id: str,
        order: LiveOrder,
        account: Account,
        now_s: float,
        *,
        slowest_pace: float,
        on_lost: Callable[[HeardStream, str], None],
        on_over: Callable[[HeardStream], None],
    ) -> None:
        self.id = stream_id
        self.model = order.narration.model
        self.account = account
        self.findings: tuple[str, ...] = ()
        self.outcome = ""
        self.num_places = 0
        self.silent_deaths = 0
        self.revision = ""
        self.sample_rate_hz = 0
        self.worker = ""
        self.is_strict = order.narration.is_strict
        self.heard: HeardClock | None = None
        self.ttfa_s: float | None = None
        self._asked_s = now_s
        self._kept = KeptStream(order)
        self._on_lost = on_lost
        self._on_over = on_over
        self.place: StreamPlace | None = None
        self._ready: deque[LiveChunk] = deque()
        self._has_news = asyncio.Event()
        self._num_came = self._num_taken = self._num_told = 0
        self._untaken_since_s: float | None = None
        self._untaken_s = 0.0
        self._slowest_pace = slowest_pace
        self._problem: LiveBroken | None = None
        self._chunk_asked_s: float | None = None
        self._segment_chars = 0
        self._segment_is_counted = False
        self._counts_pieces = order.text_is_open

    @property
    def is_over(self) -> bool:
        return bool(self.outcome)

    @property
    def is_read(self) -> bool:
        """Nothing is left for its reader."""
        return not self._ready

    @property
    def num_chars(self) -> int:
        """Characters of the text so far."""
        return self._kept.num_chars

    @property
    def audio_s(self) -> float:
        """Seconds of audio that came so far."""
        return self.heard.audio_s if self.heard else 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    async def chunks(self) -> AsyncGenerator[LiveChunk]:
        """As they come, to the end. Raises `LiveBroken`, a `Problem`, behind the last one of a stream that broke."""
        while True:
            while self._ready:
                yield self._taken(self._ready.popleft())
            if self.outcome:
                break
            self._has_news.clear()
            await self._has_news.wait()
        if self._problem is not None:
            raise self._problem

    async def extend(self, text: str, *, is_last: bool) -> None:
        """More of an open text, in any pieces; nothing if the stream is over. Raises `ValueError` for a text that is
        not open.
        """
        if self.is_over:
            return
        if not self._kept.text_is_open:
            raise ValueError("the text of this stream is complete")
        pieces = [text[at : at + MAX_EXTENSION_CHARS] for at in range(0, len(text), MAX_EXTENSION_CHARS)] or [""]
        for number, piece in enumerate(pieces, start=1):
            self._extend(piece, is_last=is_last and number == len(pieces))

    def cancel(self) -> None:
        """Nothing more is made or comes; nothing happens to a stream that is over."""
        self._ready.clear()
        self._end("cancelled")

    def fail(self, code: str, detail: str) -> None:
        """It breaks: its reader gets the error after the audio that is already there."""
        if not self.is_over:
            self._problem = LiveBroken(code, detail)
            self._end(code)

    def board(self, link: WorkerLink) -> StreamPlace:
        """Begin or go on at this worker; what another one still says is not taken."""
        self.leave()
        self.num_places += 1
        place = self.place = StreamPlace(self, link, f"{self.id}-{self.num_places}", self._num_came)
        self._num_told = self._num_came
        resume, codes = self._kept.resume()
        link.board(
            place.wire_id,
            place,
            encode_message(Open(stream=place.wire_id, order=self._kept.order(), resume=resume), codes),
        )
        return place

    def leave(self) -> None:
        """Have no worker."""
        if self.place is not None:
            self.place.link.leave(self.place.wire_id, is_over=False)
            self.place = None

    def settle_at(self, hello: Hello) -> None:
        """A worker took it."""
        self.worker, self.revision = hello.worker, hello.revision
        if self.heard is None:
            self.sample_rate_hz = hello.sample_rate_hz
            self.heard = HeardClock(hello.sample_rate_hz)
            if self._counts_pieces:
                self.account.characters += self._kept.num_chars

    def lose(self, place: StreamPlace, reason: str) -> None:
        """Its worker can do nothing more for it."""
        if place is self.place and not self.is_over:
            self.leave()
            self._chunk_asked_s = None
            self._on_lost(self, reason)

    def lead_s(self, now_s: float) -> float:
        return self.heard.lead_s(now_s) if self.heard else 0.0

    def check_listener(self, now_s: float) -> None:
        """End the stream of a listener that reads nothing, or far more slowly than the speech plays."""
        if self._untaken_since_s is not None and now_s - self._untaken_since_s > LISTENER_PATIENCE_S:
            self._ready.clear()
            self._untaken_since_s = None
            self._problem = LiveBroken(LISTENER_TOO_SLOW, f"nothing was read for {LISTENER_PATIENCE_S:.0f} s")
            self._end(LISTENER_TOO_SLOW)
        elif not self.is_over and self._is_taken_too_slowly(now_s):
            self.findings = (*self.findings, LISTENER_TOO_SLOW)
            self._end(LISTENER_TOO_SLOW)

    def _is_taken_too_slowly(self, now_s: float) -> bool:
        """Time in which there was nothing to take, for want of text or of an engine, is not the listener's."""
        untaken_s = (
            self._untaken_s if self._untaken_since_s is None else self._untaken_s + now_s - self._untaken_since_s
        )
        taken_s = self._num_taken / self.sample_rate_hz if self._num_taken else 0.0
        return untaken_s > LISTENER_GRACE_S and (untaken_s - LISTENER_GRACE_S) * self._slowest_pace > taken_s

    def take(self, place: StreamPlace, head: FromWorker, payload: bytes) -> None:
        """From the worker where the stream is."""
        match head:
            case SegmentBegins():
                self._begin_segment(head)
            case Audio():
                self._take_audio(place, head, payload)
            case SegmentSpoken():
                self._kept.end(head.segment)
            case StreamDone():
                self.findings = head.findings
                self._finish(place, "done")
            case StreamFailed():
                self._take_failure(place, head)
            case Opened() | OpenRefused() | Hello() | LiveLoad():
                pass
            case _:
                assert_never(head)

    def _begin_segment(self, segment: SegmentBegins) -> None:
        self._chunk_asked_s = asyncio.get_running_loop().time()
        if self._kept.begin(segment):
            self._segment_is_counted = False
        # How much of a text that is being written belongs to the segment is not known yet.
        self._segment_chars = 0 if self._counts_pieces else len(segment.text)

    def _take_audio(self, place: StreamPlace, audio: Audio, payload: bytes) -> None:
        hello = place.link.hello
        if hello is None or self.heard is None:
            raise RuntimeError("audio before a worker has introduced itself")
        now_s = asyncio.get_running_loop().time()
        parts = split_audio(audio, payload, hello.num_codebooks)
        self._kept.keep(audio, parts.codes)
        if audio.num_frames:
            self._count_engine(now_s)
        if not parts.samples:
            return
        if self.ttfa_s is None:
            self.ttfa_s = now_s - self._asked_s
        self.silent_deaths = 0
        self._count(audio, hello.sample_rate_hz)
        self.heard.add(audio.num_samples, now_s, may_wait=self._kept.text_is_open)
        self._num_came += audio.num_samples
        if self._untaken_since_s is None:
            self._untaken_since_s = now_s
        self._ready.append(LiveChunk(parts.samples, audio.segment, is_pause=audio.num_frames == 0))
        self._has_news.set()

    def _count(self, audio: Audio, sample_rate_hz: int) -> None:
        self.account.audio_s += audio.num_samples / sample_rate_hz
        if not self._segment_is_counted:
            self._segment_is_counted = True
            self.account.segments += 1
            self.account.characters += self._segment_chars

    def _count_engine(self, now_s: float) -> None:
        """Since the chunk before; an engine that waits for text is no longer busy with it."""
        if self._chunk_asked_s is not None:
            self.account.engine_s += min(now_s - self._chunk_asked_s, LONGEST_CHUNK_S)
        self._chunk_asked_s = now_s

    def _taken(self, chunk: LiveChunk) -> LiveChunk:
        self._num_taken += len(chunk.pcm) // 2
        now_s = asyncio.get_running_loop().time()
        if self._untaken_since_s is not None:
            self._untaken_s += now_s - self._untaken_since_s
        self._untaken_since_s = now_s if self._ready else None
        if self.place is not None and self._num_taken - self._num_told >= CONSUMED_STEP_S * self.sample_rate_hz:
            self._num_told = self._num_taken
            head = Consumed(stream=self.place.wire_id, num_samples=self._num_taken - self.place.before)
            self.place.link.say(head)
        return chunk

    def _extend(self, text: str, *, is_last: bool) -> None:
        wire_id = self.place.wire_id if self.place is not None else self.id
        extension = ExtendStream(stream=wire_id, text=text, is_last=is_last)
        self._kept.extend(extension)
        self.account.characters += len(text)
        if self.place is not None:
            self.place.link.say(extension)

    def _take_failure(self, place: StreamPlace, failed: StreamFailed) -> None:
        if failed.code not in RESUMABLE:
            self._problem = LiveBroken(failed.code, failed.detail)
            self._finish(place, failed.code)
            return
        if failed.code == ENGINE_DIED:
            self.silent_deaths += 1
        place.link.leave(place.wire_id, is_over=True)
        self.lose(place, failed.code)

    def _finish(self, place: StreamPlace, outcome: str) -> None:
        """By its worker's word."""
        place.link.leave(place.wire_id, is_over=True)
        self.place = None
        self._end(outcome)

    def _end(self, outcome: str) -> None:
        if self.is_over:
            return
        self.outcome = outcome
        self.leave()
        self._has_news.set()
        self._on_over(self)
