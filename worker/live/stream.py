"""One stream: its text goes to the engine segment by segment, and what the engine makes goes out at once.

All of it runs in the thread of the live server. A segment starts shortly before the previous one ends, in a slot that
no stream needs. So nothing waits for the engine's first frame between them. Without such a slot it starts when the
previous one is made. Either way it is sent after the previous one and the pause between them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from storage.errors import StoreUnavailable
from storage.live.messages import (
    ENGINE_DIED,
    Audio,
    FromWorker,
    Open,
    Opened,
    OpenRefused,
    SegmentBegins,
    SegmentSpoken,
    StreamDone,
    StreamFailed,
)
from storage.runtime.observability.tracing import span
from worker.engine.errors import EngineDied, RequestCancelled, RequestRejected
from worker.engine.interface import (
    CodecFrames,
    Conditioning,
    FinishReason,
    Speech,
    SpeechChunk,
    SpeechRequest,
    TextMode,
    Urgency,
)
from worker.errors import FAULT, PermanentItemError
from worker.live.errors import StreamRefused
from worker.live.measures import StreamMeter
from worker.live.parts import LiveParts
from worker.live.pieces import PeekedText, TextSource
from worker.live.places import LivePlaces
from worker.live.resuming import ResumeStart, start_of
from worker.live.segment import LiveSegment, SegmentEvents
from worker.live.short_takes import MOST_TAKES, Heard, first_events
from worker.live.text_source import text_source
from worker.live.voicing import TEXT_MODES, StreamOver, StreamPatience, conditioning_of, needs_store, refuse_impossible
from worker.speech.audio.samples import Samples, to_bytes
from worker.speech.quality.findings import Defect
from worker.synthesis.manners import Manner, Tries, manners
from worker.synthesis.speech_requests import effective_sampling, frame_limit
from worker.synthesis.spoken_segment import segment_seed

logger = logging.getLogger(__name__)

LEAD_S = 8.0
"""So much audio may wait for its listener before another segment is spoken."""

Send = Callable[..., None]
"""A head of `storage.live.messages` and its payload, without waiting."""


class SpokenStream:
    """`run` it once; any other method whenever its connection says so."""

    def __init__(
        self, asked: Open, codes: bytes, connection: str, parts: LiveParts, places: LivePlaces, send: Send
    ) -> None:
        """connection: a globally unique id, because stream ids are unique only within their API process.

        places: where the stream has one, and may borrow another.
        """
        self._asked = asked
        self._order = asked.order
        self._codes = codes
        self._parts = parts
        self._places = places
        self._send = send
        self._name = f"live/{connection}/{asked.stream}"
        self._loop = asyncio.get_running_loop()
        self._over = threading.Event()
        self._is_written = not asked.order.text_is_open
        self._written_s = self._loop.time()
        self._writer_watch: asyncio.TimerHandle | None = None
        self._written: list[tuple[str, bool]] = []
        self._source: PeekedText | None = None
        self._current: LiveSegment | None = None
        self._next: LiveSegment | None = None
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
        """Its listener is gone: the engine has its slot back with the next frame."""
        self._over.set()
        self._moved.set()
        if self._current is not None:
            self._parts.engine.cancel(self._current.request_id)
        self._drop_next()

    # ------------------------------------------------------------------------------------------ the stream

    async def run(self) -> None:
        """To its `done`, `failed` or `refused`, which it sends itself."""
        try:
            await self._run()
        finally:
            if self._writer_watch is not None:
                self._writer_watch.cancel()
            self._drop_next()
            self._meter.over()

    async def _run(self) -> None:
        try:
            start, conditioning, source = await self._prepare()
        except StreamRefused as refused:
            self._meter.outcome = refused.code
            self._tell(
                OpenRefused(
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
                await self._speak_all(start, conditioning, source)
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
        """A text that gets no more pieces ends its stream. Empty pieces do not count."""
        if self._is_written or self._over.is_set():
            return
        left_s = self._written_s + self._parts.text_patience_s - self._loop.time()
        if left_s > 0:
            self._writer_watch = self._loop.call_later(left_s, self._watch_writer)
            return
        self._fail("input_timeout", f"nothing more was written for {self._parts.text_patience_s:g} s")
        self.stop()

    async def _prepare(self) -> tuple[ResumeStart, Conditioning, TextSource]:
        """Raises `StreamRefused`."""
        info = self._parts.engine.info
        refuse_impossible(self._order, self._parts.model, info)
        start = start_of(self._order, self._asked.resume, self._codes, info)
        try:
            if needs_store(self._order) or self._parts.is_long(self._order):
                return start, *await asyncio.to_thread(self._looked_up)
            return start, *self._looked_up()
        except PermanentItemError as error:
            raise StreamRefused(error.error.code, error.error.detail) from error
        except StoreUnavailable as error:
            raise StreamRefused("unavailable", "a store does not answer", retry_after_s=1.0) from error
        except EngineDied as error:
            raise StreamRefused(ENGINE_DIED, "the engine starts again", retry_after_s=1.0) from error
        except StreamOver as error:
            raise StreamRefused("cancelled", "the stream was cancelled") from error
        except Exception as error:
            logger.exception("a live stream cannot begin", extra={"stream": self._name})
            raise StreamRefused("internal", FAULT) from error

    def _looked_up(self) -> tuple[Conditioning, TextSource]:
        """What takes a look into the stores."""
        patience = StreamPatience(self._over)
        conditioning = conditioning_of(self._order, self._parts.engine.info, self._parts.voices, patience)
        return conditioning, text_source(self._order, self._parts, patience)

    async def _speak_all(self, start: ResumeStart, conditioning: Conditioning, source: TextSource) -> None:
        self._source = PeekedText(source)
        for text, is_last in self._written:
            self._source.feed(text, is_last=is_last)
        before: LiveSegment | None = None
        index = start.segment
        while not self._over.is_set() and (self._next is not None or await self._has_text_of(index)):
            if self._next is None:
                self._next = self._segment(index, conditioning, start if index == start.segment else ResumeStart())
            if not self._next.is_under_way:
                await self._wait_for_listener()
            if self._over.is_set():
                return
            spoken = self._turn_of(self._next)
            if before is not None:
                self._end_segment(before, is_last=False)
            # The API keeps the codes of one segment, to resume it elsewhere: it drops them at the next one.
            self._tell(SegmentBegins(stream=self._asked.stream, index=spoken.index, text=spoken.text))
            before, index = spoken, index + 1
            if not await self._hear(spoken):
                break
        if self._over.is_set():
            return
        if before is not None:
            self._end_segment(before, is_last=True)
        findings = tuple(dict.fromkeys(self._findings))
        self._meter.outcome = "found" if findings else "done"
        self._tell(StreamDone(stream=self._asked.stream, findings=findings, segments=index, num_samples=self._sent))

    async def _has_text_of(self, index: int) -> bool:
        """Whether there is such a segment, once that is known. The samples before it were already played."""
        assert self._source is not None  # noqa: S101  (`_speak_all` has set it)
        while True:
            piece = self._source.peek()
            if piece is not None and piece.segment >= index:
                return True
            if piece is not None:
                self._source.next()
            elif self._source.is_over:
                return False
            else:
                await self._something_moved()
                if self._over.is_set():
                    return False

    async def _wait_for_listener(self) -> None:
        while self._is_far_ahead and not self._over.is_set():
            await self._something_moved()

    @property
    def _is_far_ahead(self) -> bool:
        """Of its listener."""
        return self._sent - self._consumed > LEAD_S * self._parts.engine.info.sample_rate_hz

    async def _something_moved(self) -> None:
        await self._moved.wait()
        self._moved.clear()

    # ------------------------------------------------------------------------------------------ one segment

    def _segment(self, index: int, conditioning: Conditioning, start: ResumeStart) -> LiveSegment:
        narration, info = self._order.narration, self._parts.engine.info
        bounds = self._parts.bounds(narration.voice, narration.language)
        return LiveSegment(index, f"{self._name}/{index}", conditioning, start, bounds, info)

    def _turn_of(self, spoken: LiveSegment) -> LiveSegment:
        """It plays from now on, and has the stream's own slot."""
        self._places.hand_back(self._call_back_next)
        self._next, self._current = None, spoken
        if not spoken.is_under_way:
            self._gather(spoken)
            self._submit(spoken)
        spoken.num_early = spoken.events.qsize()
        self._meter.paused()
        return spoken

    def _submit(self, spoken: LiveSegment, manner: Manner | None = None) -> None:
        """manner: of another take than the first."""
        narration = self._order.narration
        manner = manner or next(self._takes(spoken))
        most = narration.sampling.max_new_tokens
        request = SpeechRequest(
            request_id=spoken.request_id,
            text=spoken.text,
            conditioning=spoken.conditioning,
            language=narration.language,
            text_mode=TEXT_MODES[self._order.text_mode] if manner.number == 1 else TextMode.WHOLE,
            sampling=manner.sampling,
            seed=manner.seed,
            max_frames=most if most is None or not spoken.is_whole else frame_limit(spoken.text, most),
            urgency=Urgency.LIVE,
            is_opening=spoken.index == 0,
            prefix=spoken.start.prefix,
            text_is_open=not spoken.is_whole,
        )
        spoken.is_under_way = True
        post = partial(self._post, spoken.events)
        self._parts.engine.submit(request, post).add_done_callback(post)

    def _takes(self, spoken: LiveSegment) -> Iterator[Manner]:
        """A strict order has one, as what it hears must not follow from how fast the engine is."""
        sampling, seed = self._order.narration.sampling, self._order.narration.seed
        most = 1 if self._order.narration.is_strict or sampling.max_new_tokens is not None else 1 + MOST_TAKES
        default = effective_sampling(self._parts.engine.info.default_sampling, sampling)

        def seed_of(number: int) -> int:
            is_first = number == 1 and not spoken.index
            return seed if is_first else segment_seed(seed, str(spoken.index), attempt=number)

        return manners(Tries(spoken.text, default, sampling.is_greedy, drawn=False, first=1, most=most), seed_of)

    def _look_ahead(self, spoken: LiveSegment, chunk: SpeechChunk) -> None:
        """Begin the next segment, if this one may end soon, all of the next one's text is known, and a slot is free."""
        assert self._source is not None  # noqa: S101
        if self._is_far_ahead or not spoken.may_end_soon(chunk):
            return
        if self._next is None and self._source.has_whole_segment():
            self._next = self._segment(spoken.index + 1, spoken.conditioning, ResumeStart())
            self._gather(self._next)
        if self._next is not None and not self._next.is_under_way and self._places.borrow(self._call_back_next):
            self._submit(self._next)

    def _call_back_next(self) -> None:
        """Its slot is needed, or its listener is gone. It starts again when its turn comes."""
        if self._next is not None and self._next.is_under_way:
            self._parts.engine.cancel(self._next.request_id)
            self._next.events = asyncio.Queue()
            self._next.is_under_way = False

    def _drop_next(self) -> None:
        self._call_back_next()
        self._places.hand_back(self._call_back_next)

    def _gather(self, spoken: LiveSegment) -> str:
        """What is known of its text and was not, which it has from now on."""
        assert self._source is not None  # noqa: S101
        news: list[str] = []
        while not spoken.is_whole and (piece := self._source.next()) is not None:
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

    def _post(self, events: SegmentEvents, event: SpeechChunk | Future[Speech]) -> None:
        """From the engine's thread. A loop that is closed has ended all streams."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(events.put_nowait, event)

    async def _hear(self, spoken: LiveSegment) -> bool:
        """Send on what the engine makes of the segment, to its end; whether speech is to go on. Raises its errors."""
        takes = self._takes(spoken)
        next(takes)
        is_measured = spoken.bounds.voice is not None and not self._order.narration.instructions
        first = await first_events(spoken, takes, partial(self._submit, spoken))
        self._findings += spoken.found
        spoken.num_early = max(spoken.num_early, len(first))
        while True:
            event = first.pop(0) if first else await spoken.events.get()
            if isinstance(event, Future):
                self._current = None
                self._settle(spoken, event.result())
                return True
            # Of what lay there already no time between two chunks is measured.
            self._meter.made(len(event.frames), self._loop.time(), may_wait=not spoken.is_whole or spoken.num_early > 0)
            spoken.num_early -= 1
            finding = spoken.gate.take(event, spoken.text)
            if finding is not None:
                self._findings.append(finding.defect.value)
                logger.info("live speech ended", extra={"stream": self._name, "found": str(finding)})
                self._drop_next()
                await self._give_up(spoken, first)
                return False
            over = spoken.gate.cut(event, spoken.text if spoken.is_whole else None, is_measured=is_measured)
            self._send_audio(spoken.index, *spoken.audio.take(over or event))
            if over is not None:
                self._findings.append(Defect.TOO_LONG.value)
                await self._give_up(spoken, first)
                return True
            spoken.num_frames += len(event.frames)
            self._look_ahead(spoken, event)

    def _settle(self, spoken: LiveSegment, speech: Speech) -> None:
        if speech.finish_reason is not FinishReason.EOS and self._order.narration.sampling.max_new_tokens is None:
            self._findings.append(Defect.UNFINISHED.value)
        silent = spoken.gate.end()
        if silent is not None:
            self._findings.append(silent.defect.value)

    async def _give_up(self, spoken: LiveSegment, first: Heard) -> None:
        """The engine's slot is free when this returns. first: events that were taken and not looked at."""
        self._parts.engine.cancel(spoken.request_id)
        while True:
            event = first.pop(0) if first else await spoken.events.get()
            if isinstance(event, Future):
                self._current = None
                event.exception()
                return

    def _end_segment(self, spoken: LiveSegment, *, is_last: bool) -> None:
        if not is_last:
            self._send_audio(spoken.index, spoken.audio.pause(spoken.pause_s))
        self._tell(SegmentSpoken(stream=self._asked.stream, segment=spoken.index))

    # ------------------------------------------------------------------------------------------ to the listener

    def _send_audio(self, segment: int, samples: Samples, frames: CodecFrames | None = None) -> None:
        """frames: None for silence that no frame stands for."""
        num_samples, num_frames = len(samples), 0 if frames is None else len(frames)
        if not num_samples and not num_frames:
            return
        self._sent += num_samples
        self._meter.sent(num_samples, self._loop.time(), may_wait=not self._is_written)
        head = Audio(stream=self._asked.stream, segment=segment, num_frames=num_frames, num_samples=num_samples)
        self._tell(head, to_bytes(samples), b"" if frames is None else frames.astype("<i2").tobytes())

    def _fail(self, code: str, detail: str) -> None:
        if not self._over.is_set():
            self._meter.outcome = code
        self._tell(StreamFailed(stream=self._asked.stream, code=code, detail=detail))

    def _tell(self, head: FromWorker, *payload: bytes) -> None:
        if not self._over.is_set():
            self._send(head, *payload)
