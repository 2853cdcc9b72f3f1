"""One stream: its text goes to the engine segment by segment, and what the engine makes goes out at once.

All of it runs in the thread of the live server. A segment is asked for when the engine has made the one before, which
the listener hears for a while yet; the pause between them is sent then.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from storage.errors import StoreUnavailable
from storage.live.messages import (
    ENGINE_DIED,
    Audio,
    Done,
    Failed,
    FromWorker,
    Open,
    Opened,
    Refused,
    Segment,
    Spoken,
)
from storage.runtime.observability.tracing import span
from worker.engine.errors import EngineDied, RequestCancelled, RequestRejected
from worker.engine.interface import Conditioning, FinishReason, Speech, SpeechChunk, SpeechRequest, Urgency
from worker.errors import FAULT, PermanentItemError
from worker.live.errors import StreamRefused
from worker.live.gate import LiveGate
from worker.live.measures import StreamMeter
from worker.live.parts import LiveParts
from worker.live.pieces import TextPiece, TextSource
from worker.live.resuming import Start, start_of
from worker.live.segment_audio import Heard, SegmentAudio
from worker.live.text_source import text_source
from worker.live.voicing import (
    TEXT_MODES,
    StreamOver,
    StreamPatience,
    conditioning_of,
    needs_store,
    refuse_impossible,
)
from worker.speech.audio.samples import to_bytes
from worker.speech.quality.findings import Defect
from worker.synthesis.speech_requests import effective_sampling, frame_limit
from worker.synthesis.spoken_segment import segment_seed

logger = logging.getLogger(__name__)

LEAD_S = 8.0
"""So much audio may wait for its listener before another segment is spoken."""

Send = Callable[..., None]
"""A head of `storage.live.messages` and its payload, without waiting."""


@dataclass(slots=True)
class _Spoken:
    """A segment that the engine has under way. text: as far as it is known."""

    index: int
    request_id: str
    audio: SegmentAudio
    gate: LiveGate
    text: str
    is_whole: bool
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What takes a look into the stores."""

    conditioning: Conditioning
    source: TextSource


class LiveStream:
    """`run` it once; any other method whenever its connection says so."""

    def __init__(self, asked: Open, codes: bytes, connection: str, parts: LiveParts, send: Send) -> None:
        """connection: an id of its own among all that there ever are, as ids of streams are their API process's."""
        self._asked = asked
        self._order = asked.order
        self._codes = codes
        self._parts = parts
        self._send = send
        self._name = f"live/{connection}/{asked.stream}"
        self._loop = asyncio.get_running_loop()
        self._over = threading.Event()
        self._is_written = not asked.order.text_is_open
        self._written_s = self._loop.time()
        self._writer_watch: asyncio.TimerHandle | None = None
        self._events: asyncio.Queue[SpeechChunk | Future[Speech]] = asyncio.Queue()
        self._written: list[tuple[str, bool]] = []
        self._source: TextSource | None = None
        self._ahead: TextPiece | None = None
        self._current: _Spoken | None = None
        self._moved = asyncio.Event()
        self._sent = self._consumed = 0
        self._findings: list[str] = []
        self._meter = StreamMeter(
            parts.engine.info.sample_rate_hz, self._loop.time(), is_resumed=asked.resume is not None
        )

    # ------------------------------------------------------------------------------------------ from the connection

    def extend(self, text: str, *, is_last: bool) -> None:
        self._is_written = is_last
        if text:
            self._written_s = self._loop.time()
        if self._source is None:
            self._written.append((text, is_last))
            return
        self._source.feed(text, is_last=is_last)
        self._pass_on()
        self._moved.set()

    def consumed(self, num_samples: int) -> None:
        self._consumed = max(self._consumed, num_samples)
        self._moved.set()

    def stop(self) -> None:
        """Nobody hears it any more: the engine has its slot back with the next frame."""
        self._over.set()
        self._moved.set()
        if self._current is not None:
            self._parts.engine.cancel(self._current.request_id)

    # ------------------------------------------------------------------------------------------ the stream

    async def run(self) -> None:
        """To its `done`, `failed` or `refused`, which it sends itself."""
        try:
            await self._run()
        finally:
            if self._writer_watch is not None:
                self._writer_watch.cancel()
            self._meter.over()

    async def _run(self) -> None:
        try:
            start, prepared = await self._prepare()
        except StreamRefused as refused:
            self._meter.outcome = refused.code
            self._tell(
                Refused(
                    stream=self._asked.stream,
                    code=refused.code,
                    detail=refused.detail,
                    retry_after_s=refused.retry_after_s,
                )
            )
            return
        self._tell(Opened(stream=self._asked.stream))
        self._watch_writer()
        try:
            with span("live", stream=self._name):
                await self._speak_all(start, prepared)
        except EngineDied as error:
            self._fail(ENGINE_DIED, str(error))
        except RequestRejected as error:
            self._fail("invalid_request", str(error))
        except PermanentItemError as error:
            self._fail(error.error.code, error.error.detail)
        except RequestCancelled:
            # By `stop`: who asked for it hears no more.
            self._fail("cancelled", "the stream was cancelled")
        except Exception:
            logger.exception("a live stream failed", extra={"stream": self._name})
            self._fail("internal", FAULT)

    def _watch_writer(self) -> None:
        """A text that nobody writes on ends its stream, whose place stands still. Empty pieces are none."""
        if self._is_written or self._over.is_set():
            return
        left_s = self._written_s + self._parts.text_patience_s - self._loop.time()
        if left_s > 0:
            self._writer_watch = self._loop.call_later(left_s, self._watch_writer)
            return
        self._fail("input_timeout", f"nothing more was written for {self._parts.text_patience_s:g} s")
        self.stop()

    async def _prepare(self) -> tuple[Start, _Prepared]:
        """Raises `StreamRefused`."""
        info = self._parts.engine.info
        refuse_impossible(self._order, self._parts.model, info)
        start = start_of(self._order, self._asked.resume, self._codes, info)
        try:
            if needs_store(self._order) or self._parts.is_long(self._order):
                return start, await asyncio.to_thread(self._prepared)
            return start, self._prepared()
        except PermanentItemError as error:
            raise StreamRefused(error.error.code, error.error.detail) from error
        except StoreUnavailable as error:
            raise StreamRefused("unavailable", "a store does not answer", retry_after_s=1.0) from error
        except EngineDied as error:
            raise StreamRefused(ENGINE_DIED, "the engine starts again", retry_after_s=1.0) from error
        except StreamOver as error:
            raise StreamRefused("cancelled", "the stream was cancelled") from error

    def _prepared(self) -> _Prepared:
        patience = StreamPatience(self._over)
        conditioning = conditioning_of(self._order, self._parts.engine.info, self._parts.voices, patience)
        return _Prepared(conditioning, text_source(self._order, self._parts, patience))

    async def _speak_all(self, start: Start, prepared: _Prepared) -> None:
        self._source = prepared.source
        for text, is_last in self._written:
            self._source.feed(text, is_last=is_last)
        before: _Spoken | None = None
        index = start.segment
        while not self._over.is_set() and await self._has_text_of(index):
            await self._wait_for_listener()
            spoken = self._submit(index, prepared.conditioning, start if index == start.segment else Start())
            if before is not None:
                self._end_segment(before, is_last=False)
            before, index = spoken, index + 1
            if not await self._hear(spoken):
                break
        if self._over.is_set():
            return
        if before is not None:
            self._end_segment(before, is_last=True)
        findings = tuple(dict.fromkeys(self._findings))
        self._meter.outcome = "found" if findings else "done"
        self._tell(Done(stream=self._asked.stream, findings=findings, segments=index, num_samples=self._sent))

    async def _has_text_of(self, index: int) -> bool:
        """Whether there is such a segment, once that is known. What comes before it was heard elsewhere."""
        assert self._source is not None  # noqa: S101  (`_speak_all` has set it)
        while True:
            piece = self._ahead or self._source.next()
            self._ahead = None
            if piece is not None and piece.segment >= index:
                self._ahead = piece
                return True
            if piece is None and self._source.is_over:
                return False
            if piece is None:
                await self._something_moved()
                if self._over.is_set():
                    return False

    async def _wait_for_listener(self) -> None:
        rate = self._parts.engine.info.sample_rate_hz
        while self._sent - self._consumed > LEAD_S * rate and not self._over.is_set():
            await self._something_moved()

    async def _something_moved(self) -> None:
        await self._moved.wait()
        self._moved.clear()

    # ------------------------------------------------------------------------------------------ one segment

    def _submit(self, index: int, conditioning: Conditioning, start: Start) -> _Spoken:
        info, order = self._parts.engine.info, self._order
        bounds = self._parts.bounds(order.narration.voice, order.narration.language)
        spoken = _Spoken(
            index,
            f"{self._name}/{index}",
            SegmentAudio(info, start),
            LiveGate(bounds, info.samples_per_frame / info.sample_rate_hz),
            text="",
            is_whole=False,
        )
        self._gather(spoken)
        most = order.narration.sampling.max_new_tokens
        request = SpeechRequest(
            request_id=spoken.request_id,
            text=spoken.text,
            conditioning=conditioning,
            language=order.narration.language,
            text_mode=TEXT_MODES[order.text_mode],
            sampling=effective_sampling(info.default_sampling, order.narration.sampling),
            seed=segment_seed(order.narration.seed, str(index)) if index else order.narration.seed,
            max_frames=most if most is None or not spoken.is_whole else frame_limit(spoken.text, most),
            urgency=Urgency.LIVE,
            is_opening=index == 0,
            prefix=start.prefix,
            text_is_open=not spoken.is_whole,
        )
        self._tell(Segment(stream=self._asked.stream, index=index, text=spoken.text))
        self._meter.paused()
        self._current = spoken
        future = self._parts.engine.submit(request, self._post)
        future.add_done_callback(self._post)
        return spoken

    def _gather(self, spoken: _Spoken) -> str:
        """What is known of its text and was not, which it has from now on."""
        assert self._source is not None  # noqa: S101
        news: list[str] = []
        while not spoken.is_whole and (piece := self._ahead or self._source.next()) is not None:
            self._ahead = None
            news.append(piece.text)
            spoken.is_whole, spoken.pause_s = piece.is_last, piece.pause_s
        said = "".join(news)
        spoken.text += said
        return said

    def _pass_on(self) -> None:
        """To the engine, what was just written of the segment that it speaks."""
        spoken = self._current
        if spoken is None or spoken.is_whole:
            return
        said = self._gather(spoken)
        if said or spoken.is_whole:
            self._parts.engine.extend(spoken.request_id, said, is_last=spoken.is_whole)

    def _post(self, event: SpeechChunk | Future[Speech]) -> None:
        """From the engine's thread. A loop that is closed has ended all streams."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def _hear(self, spoken: _Spoken) -> bool:
        """Send on what the engine makes of the segment, to its end; whether speech is to go on. Raises its errors."""
        while True:
            event = await self._events.get()
            if isinstance(event, Future):
                self._current = None
                return self._settle(spoken, event.result())
            self._meter.made(len(event.frames), self._loop.time(), may_wait=not spoken.is_whole)
            finding = spoken.gate.take(event, spoken.text)
            if finding is not None:
                self._findings.append(finding.defect.value)
                logger.info("live speech ended", extra={"stream": self._name, "found": str(finding)})
                await self._give_up(spoken)
                return False
            self._send_audio(spoken.index, spoken.audio.take(event))

    def _settle(self, spoken: _Spoken, speech: Speech) -> bool:
        if speech.finish_reason is not FinishReason.EOS and self._order.narration.sampling.max_new_tokens is None:
            self._findings.append(Defect.UNFINISHED.value)
        silent = spoken.gate.end()
        if silent is not None:
            self._findings.append(silent.defect.value)
        return True

    async def _give_up(self, spoken: _Spoken) -> None:
        """The engine's slot is free when this returns."""
        self._parts.engine.cancel(spoken.request_id)
        while True:
            event = await self._events.get()
            if isinstance(event, Future):
                self._current = None
                event.exception()
                return

    def _end_segment(self, spoken: _Spoken, *, is_last: bool) -> None:
        if not is_last:
            silence = spoken.audio.pause(spoken.pause_s)
            self._send_samples(spoken.index, to_bytes(silence), len(silence))
        self._tell(Spoken(stream=self._asked.stream, segment=spoken.index))

    # ------------------------------------------------------------------------------------------ to the listener

    def _send_audio(self, segment: int, heard: Heard) -> None:
        if heard.is_nothing:
            return
        codes = heard.frames.astype("<i2").tobytes()
        self._send_samples(segment, to_bytes(heard.samples), len(heard.samples), codes, len(heard.frames))

    def _send_samples(
        self, segment: int, samples: bytes, num_samples: int, codes: bytes = b"", num_frames: int = 0
    ) -> None:
        self._sent += num_samples
        self._meter.sent(num_samples, self._loop.time(), may_wait=not self._is_written)
        head = Audio(stream=self._asked.stream, segment=segment, num_frames=num_frames, num_samples=num_samples)
        self._tell(head, samples, codes)

    def _fail(self, code: str, detail: str) -> None:
        if not self._over.is_set():
            self._meter.outcome = code
        self._tell(Failed(stream=self._asked.stream, code=code, detail=detail))

    def _tell(self, head: FromWorker, *payload: bytes) -> None:
        if not self._over.is_set():
            self._send(head, *payload)
