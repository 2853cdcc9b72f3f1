"""The lane of one device for one engine or for several: a session for each, and samples back to the one that asked."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from worker.engine.decoder.protocol import (
    DecodedEnd,
    DecodedPart,
    DropSpeech,
    EndFrames,
    FromDecoder,
    OpenSpeech,
    PutFrames,
)
from worker.engine.interface import FinishReason, Pcm, SamplingParams, SpeechChunk
from worker.engine.requests.prompt import PlacedFrames, PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import CodecLane, EndedFrames, LaneCounters
from worker.engine.serving.talker_lane import SpeechPart
from worker.process.children.program import BROKEN_STATUS

logger = logging.getLogger(__name__)

BEAT_S = 0.5

_NO_IDS = np.zeros(0, dtype=np.int64)
_NO_SAMPLES = np.zeros(0, dtype=np.float32)


@dataclass(slots=True, eq=False)
class _Work:
    """A request in the lane. handed, decoded: frames behind its prefix."""

    session: DecoderSession
    number: int
    handed: int = 0
    decoded: int = 0


class SharedLane:
    """The lane's client. Any thread may call."""

    def __init__(self) -> None:
        self._lane: CodecLane | None = None
        self._putting = threading.Lock()
        """The lane has one putting thread at a time."""
        self._lock = threading.Lock()
        self._works: dict[RequestState, _Work] = {}

    def begin(self, lane: CodecLane) -> None:
        lane.start(self)
        self._lane = lane

    @property
    def counters(self) -> LaneCounters:
        return LaneCounters() if self._lane is None else self._lane.counters

    @property
    def waiting_frames(self) -> int:
        with self._lock:
            return sum(work.handed - work.decoded for work in self._works.values())

    def open(self, request: RequestState, session: DecoderSession, number: int) -> None:
        with self._lock:
            self._works[request] = _Work(session, number)

    def put_part(self, part: SpeechPart) -> None:
        with self._lock:
            self._works[part.request].handed += len(part.frames)
        self._put(lambda lane: lane.put_part(part))

    def put(self, utterance: EndedFrames) -> None:
        with self._lock:
            self._works[utterance.request].handed = len(utterance.frames)
        self._put(lambda lane: lane.put(utterance))

    def drop(self, request: RequestState) -> None:
        with self._lock:
            self._works.pop(request, None)
        self._put(lambda lane: lane.drop(request))

    def _put(self, act: Callable[[CodecLane], None]) -> None:
        assert self._lane is not None  # noqa: S101  (sessions take frames behind `begin`)
        with self._putting:
            act(self._lane)

    # ------------------------------------------------------------------------------------------ of the lane's threads

    def is_wanted(self, request: RequestState) -> bool:
        with self._lock:
            return request in self._works

    @property
    def num_in_flight(self) -> int:
        with self._lock:
            return len(self._works)

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        with self._lock:
            work = self._works.get(request)
            if work is not None:
                work.decoded += len(part.frames)
        if work is not None:
            work.session.say(DecodedPart(work.number, part.pcm))

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        with self._lock:
            work = self._works.pop(utterance.request, None)
        if work is not None:
            work.session.end(work.number, _NO_SAMPLES if utterance.request.is_streamed else pcm)

    def run_guarded(self, work: Callable[[], None]) -> None:
        try:
            with torch.inference_mode():
                work()
        except Exception:  # the engine starts another process, or goes on elsewhere
            logger.exception("a thread of the decoder failed")
            os._exit(BROKEN_STATUS)


class DecoderSession:
    """What one engine has decoded. say: sends a message, without waiting, from any thread."""

    def __init__(self, say: Callable[[FromDecoder], None], shared: SharedLane) -> None:
        self.say = say
        self._shared = shared
        self._requests: dict[int, RequestState] = {}

    def act_on(self, message: object) -> None:
        """One thread's. Raises KeyError for a request that is not open, TypeError for what no engine says."""
        match message:
            case OpenSpeech():
                request = _request_of(message)
                self._requests[message.number] = request
                self._shared.open(request, self, message.number)
            case PutFrames(number, frames, text_is_open):
                request = self._requests[number]
                request.is_open = text_is_open
                self._shared.put_part(SpeechPart(request, frames))
            case EndFrames(number, frames):
                self._shared.put(EndedFrames(self._requests[number], frames, FinishReason.EOS))
            case DropSpeech(number):
                self._drop(number)
            case _:
                raise TypeError(f"{type(message).__name__} is said by no engine")

    def end(self, number: int, pcm: Pcm) -> None:
        self._requests.pop(number, None)
        self.say(DecodedEnd(number, pcm))

    def close(self) -> None:
        """What is under way is forgotten: the engine has it decoded elsewhere."""
        for number in list(self._requests):
            self._drop(number)

    def _drop(self, number: int) -> None:
        request = self._requests.pop(number, None)
        if request is not None:
            self._shared.drop(request)


def _request_of(opened: OpenSpeech) -> RequestState:
    """What a codec's lane looks at. Without text beside its frames an open request stands still; none waits for it."""
    reference = None if opened.reference is None else PlacedFrames(0, opened.reference)
    return RequestState(
        str(opened.number),
        PromptLayout(_NO_IDS, _NO_IDS, _NO_IDS, 0, reference=reference),
        SamplingParams(),
        seed=0,
        max_frames=0,
        urgency=opened.urgency,
        is_opening=opened.is_opening,
        is_streamed=opened.is_streamed,
        prefix=opened.prefix,
    )
