"""The codec's lane in processes apart: `CodecLane` for the engine, one process for each device, here or elsewhere.

All frames of an open request stay here. When a process dies, its requests are opened again: frames whose samples were
delivered become part of the prefix. On a CPU the samples that follow are the same, bit by bit, because passes are
divided alike from the first frame on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from worker.engine.decoder.child import DecoderChild
from worker.engine.decoder.link import DecoderLink
from worker.engine.decoder.protocol import (
    DecodedEnd,
    DecodedPart,
    DecoderBeat,
    DecoderReady,
    DecoderStartFailed,
    DropSpeech,
    EndFrames,
    FromDecoder,
    OpenSpeech,
    PutFrames,
    StartDecoder,
    ToDecoder,
)
from worker.engine.errors import CheckpointError, EngineDied, EngineError, EngineUnavailable, StartError
from worker.engine.interface import CodecFrames, Pcm, SpeechChunk
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import CodecClient, EndedFrames, LaneCounters
from worker.engine.serving.talker_lane import SpeechPart
from worker.engine.settings import DecoderAddress, kind_of
from worker.process.children.backoff import Backoff
from worker.process.children.channel import ChannelClosed

logger = logging.getLogger(__name__)

_MOST_FAILURES = 3
"""Processes in a row that ended before they delivered anything."""

_SEEK_EVERY_S = 1.0
"""Between tries to reach a decoder worker."""
_AWAY_S = 60.0
"""How long an engine waits for any decoder: listeners wait no longer."""


@dataclass(slots=True, eq=False)
class _Place:
    """One device. child: its process, while that takes frames. loading: its process before that.

    failures: in a row. has_delivered: of the present process. counters: of it and of those before it.
    """

    start: StartDecoder
    child: DecoderChild | DecoderLink | None = None
    loading: DecoderChild | DecoderLink | None = None
    failures: int = 0
    has_delivered: bool = False
    counters: LaneCounters = field(default_factory=LaneCounters)

    @property
    def kind(self) -> str:
        return kind_of(self.start.device)

    @property
    def is_elsewhere(self) -> bool:
        return isinstance(self.start.device, DecoderAddress)

    def send(self, message: ToDecoder) -> None:
        """Lost while no process takes frames: the next one gets everything."""
        if self.child is not None:
            self.child.send(message)


@dataclass(slots=True, eq=False)
class _Speech:
    """An open request. frames: (T, Q) behind its prefix, as far as they are known. parts: the samples delivered so far.

    num_before: frames that were in the prefix when it was opened last.
    """

    request: RequestState
    number: int
    place: _Place
    frames: CodecFrames
    utterance: EndedFrames | None = None
    parts: list[Pcm] = field(default_factory=list)
    num_delivered: int = 0
    num_before: int = 0

    @property
    def num_waiting(self) -> int:
        return len(self.frames) - self.num_delivered


class ApartCodecLane:
    """The processes start with the object. A request goes to the least loaded one and stays there while that lives."""

    def __init__(
        self, starts: Sequence[StartDecoder], codec_digest: str, samples_per_frame: int, sample_rate_hz: int
    ) -> None:
        self._codec_digest = codec_digest
        self._samples_per_frame = samples_per_frame
        self._sample_rate_hz = sample_rate_hz
        self._changed = threading.Condition()
        self._client: CodecClient | None = None
        self._failure: Exception | None = None
        self._closed = False
        self._is_started = False
        self._without_since_s: float | None = None
        """When the last decoder went out of reach."""
        self._numbers = count(1)
        self._speeches: dict[RequestState, _Speech] = {}
        self._by_number: dict[int, _Speech] = {}
        self._places = [_Place(start) for start in starts]
        self._threads = [
            threading.Thread(target=self._run, args=(place,), name=f"decoder-{place.start.device}", daemon=True)
            for place in self._places
        ]
        for thread in self._threads:
            thread.start()

    def wait_ready(self) -> None:
        """Until each decoder takes frames. Raises StartError, and EngineDied; the lane is closed then."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure or all(place.child for place in self._places))
            failure, self._is_started = self._failure, True
        if failure is not None:
            self.close()
            self.join()
            raise failure

    def start(self, client: CodecClient) -> None:
        with self._changed:
            self._client = client
            failure = self._failure
        if failure is not None:
            client.run_guarded(lambda: _raise(failure))

    def put_part(self, part: SpeechPart) -> None:
        with self._changed:
            speech = self._speech_of(part.request, part.frames)
            speech.frames = np.concatenate((speech.frames, part.frames))
            speech.place.send(PutFrames(speech.number, part.frames, part.request.is_open))

    def put(self, utterance: EndedFrames) -> None:
        with self._changed:
            speech = self._speech_of(utterance.request, utterance.frames)
            speech.frames = utterance.frames
            speech.utterance = utterance
            speech.place.send(EndFrames(speech.number, speech.frames[speech.num_before :]))

    def drop(self, request: RequestState) -> None:
        with self._changed:
            speech = self._speeches.pop(request, None)
            if speech is not None:
                del self._by_number[speech.number]
                speech.place.send(DropSpeech(speech.number))

    @property
    def counters(self) -> LaneCounters:
        with self._changed:
            total = LaneCounters()
            for place in self._places:
                total = total.plus(place.counters)
            return replace(total, num_away=int(self._without_since_s is not None))

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            for place in self._places:
                for child in (place.child, place.loading):
                    if child is not None:
                        child.hang_up()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    # ------------------------------------------------------------------------------------------ the lock is held

    def _speech_of(self, request: RequestState, frames: CodecFrames) -> _Speech:
        speech = self._speeches.get(request)
        if speech is None:
            speech = _Speech(request, 0, self._least_loaded(), frames[:0])
            self._speeches[request] = speech
            self._open(speech)
        return speech

    def _least_loaded(self) -> _Place:
        def load(place: _Place) -> int:
            return sum(max(1, one.num_waiting) for one in self._speeches.values() if one.place is place)

        return min([place for place in self._places if place.child is not None] or self._places, key=load)

    def _open(self, speech: _Speech) -> None:
        request, frames = speech.request, speech.frames
        self._by_number.pop(speech.number, None)
        speech.number = next(self._numbers)
        self._by_number[speech.number] = speech
        speech.num_before = speech.num_delivered
        known = [] if request.prefix is None else [request.prefix.astype(frames.dtype)]
        prefix = np.concatenate((*known, frames[: speech.num_before]))
        placed = request.prompt.reference
        opening = OpenSpeech(
            speech.number,
            None if placed is None else placed.codes,
            prefix,
            request.urgency,
            request.is_opening,
            request.is_streamed,
        )
        speech.place.send(opening)

    def _open_again(self, speech: _Speech) -> None:
        self._open(speech)
        rest = speech.frames[speech.num_before :]
        if speech.utterance is not None:
            speech.place.send(EndFrames(speech.number, rest))
        else:
            speech.place.send(PutFrames(speech.number, rest, speech.request.is_open))

    # ------------------------------------------------------------------------------------------ a thread of each place

    def _run(self, place: _Place) -> None:
        try:
            self._keep_running(place)
        except Exception as error:  # whatever it is, the engine cannot go on without its decoder
            is_told = isinstance(error, EngineError)
            logger.error("the decoder on %s cannot go on: %s", place.start.device, error, exc_info=not is_told)
            failure = error
        else:
            return
        with self._changed:
            self._failure = self._failure or failure
            client = self._client
            self._changed.notify_all()
        if client is not None:
            client.run_guarded(lambda: _raise(failure))

    def _keep_running(self, place: _Place) -> None:
        """Raises what ends the engine."""
        backoff = Backoff()
        while not self._closed:
            reason = self._run_once(place)
            if self._closed:
                return
            logger.error("the decoder on %s ended: %s", place.start.device, reason)
            self._note_end(place, reason)
            # One that has worked is started at once: listeners wait.
            delay_s = backoff.delay_s(served=place.failures == 1) if place.failures else 0.0
            delay_s = min(delay_s, _SEEK_EVERY_S) if place.is_elsewhere else delay_s
            with self._changed:
                self._changed.wait_for(lambda: self._closed, delay_s)

    def _run_once(self, place: _Place) -> str:
        """One process from start to end; how it ended."""
        device = place.start.device
        child = DecoderLink(device) if isinstance(device, DecoderAddress) else DecoderChild(place.start)
        complaint = ""
        try:
            with self._changed:
                before, place.loading, place.has_delivered = place.counters, child, False
                if self._closed:
                    return ""
            child.run(lambda message: self._act_on(place, child, message, before))
        except ChannelClosed:
            complaint = ""
        except OSError as error:
            complaint = f", {error}"
        except StartError as error:
            # A worker that is upgraded first may be another one for a while: the others go on.
            if not (place.is_elsewhere and self._is_started):
                raise
            complaint = f", {error}"
        finally:
            status = child.end()
        return status + complaint

    def _act_on(
        self, place: _Place, child: DecoderChild | DecoderLink, message: FromDecoder, before: LaneCounters
    ) -> None:
        match message:
            case DecoderReady():
                self._require_same(place, message)
                self._admit(place, child)
            case DecoderStartFailed(error):
                raise error
            case DecoderBeat(counters):
                with self._changed:
                    beats = place.counters.start_beats + (place.child is None)
                    place.counters = replace(before.plus(counters), start_beats=beats)
            case DecodedPart(number, pcm):
                self._deliver_part(place, number, pcm)
            case DecodedEnd(number, pcm):
                self._deliver(place, number, pcm)

    def _require_same(self, place: _Place, ready: DecoderReady) -> None:
        """Raises CheckpointError, StartError."""
        start = place.start
        if ready.codec_digest != self._codec_digest:
            theirs = f"has the codec {ready.codec_digest}; asked for: {self._codec_digest}"
            raise CheckpointError(f"the decoder on {start.device} {theirs}")
        # On a CPU, rounding depends on the threads.
        num_threads = start.num_threads if place.kind == "cpu" else ready.num_threads
        if (ready.profile, ready.num_threads) != (start.profile, num_threads):
            theirs = f"has profile {ready.profile} and {ready.num_threads} RHAPSODE_ENGINE_THREADS"
            raise StartError(f"the decoder on {start.device} {theirs}; asked for: {start.profile}, {num_threads}")

    def _admit(self, place: _Place, child: DecoderChild | DecoderLink) -> None:
        with self._changed:
            place.loading, place.child = None, child
            self._without_since_s = None
            for speech in self._speeches.values():
                is_left = speech.place.child is None and speech.place.kind == place.kind
                if speech.place is place or is_left:
                    speech.place = place
                    self._open_again(speech)
            self._changed.notify_all()
        logger.info("the decoder on %s is ready: %s", place.start.device, child)

    def _note_end(self, place: _Place, reason: str) -> None:
        """Another process on the same kind of device goes on with the requests, if there is one."""
        with self._changed:
            mine = [speech for speech in self._speeches.values() if speech.place is place]
            was_idle = place.child is not None and not mine
            place.child = place.loading = None
            place.failures = 0 if place.has_delivered or was_idle else place.failures + 1
            others = [other for other in self._places if other.child is not None and other.kind == place.kind]
            for speech in mine if others else ():
                speech.place = min(others, key=lambda other: sum(one.place is other for one in self._speeches.values()))
                self._open_again(speech)
            self._changed.notify_all()
        if place.is_elsewhere:
            self._note_away(place, reason)
        elif place.failures >= _MOST_FAILURES:
            times = f"{place.failures} times before it delivered anything"
            raise EngineDied(f"the decoder on {place.start.device} ended {times}: {reason}")

    def _note_away(self, place: _Place, reason: str) -> None:
        """Raises EngineUnavailable once a decoder cannot be reached at the start, or none for too long."""
        now_s = time.monotonic()
        with self._changed:
            place.counters = replace(place.counters, start_beats=place.counters.start_beats + 1)
            if self._is_started and all(other.child is None for other in self._places):
                self._without_since_s = self._without_since_s or now_s
            is_over = place.failures >= _MOST_FAILURES and not self._is_started
            if is_over or now_s - (self._without_since_s or now_s) > _AWAY_S:
                raise EngineUnavailable(f"no decoder is in reach: {place.start.device}: {reason}")

    def _deliver_part(self, place: _Place, number: int, pcm: Pcm) -> None:
        with self._changed:
            speech = self._by_number.get(number)
            if speech is None:
                return  # dropped while they were on their way
            place.has_delivered = True
            start = speech.num_delivered
            speech.num_delivered += len(pcm) // self._samples_per_frame
            frames = speech.frames[start : speech.num_delivered]
            speech.parts.append(pcm)
        assert self._client is not None  # noqa: S101  (it put the frames)
        self._client.deliver_part(speech.request, SpeechChunk(pcm, frames))
        now_s, heard_s = time.monotonic(), len(pcm) / self._sample_rate_hz
        speech.request.heard_until_s = max(speech.request.heard_until_s, now_s) + heard_s

    def _deliver(self, place: _Place, number: int, pcm: Pcm) -> None:
        with self._changed:
            speech = self._by_number.pop(number, None)
            if speech is None:
                return
            place.has_delivered = True
            del self._speeches[speech.request]
        assert speech.utterance is not None  # noqa: S101  (only what has ended ends)
        assert self._client is not None  # noqa: S101  (it put the frames)
        self._client.deliver(speech.utterance, np.concatenate((*speech.parts, pcm)))


def _raise(error: Exception) -> None:
    raise error
