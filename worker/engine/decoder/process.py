"""The decoder's own process: `python -m worker.engine.decoder.process`, started by an engine and by nothing else.

The main thread takes frames from the channel and puts them into the lane of its device. The sender writes samples and
heartbeats. The process ends with its channel.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import NoReturn

import numpy as np
import torch

from worker.engine.decoder.device_lane import codec_digest, require_device, start_codec
from worker.engine.decoder.protocol import (
    RELEASE,
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
)
from worker.engine.errors import StartError
from worker.engine.heap import freeze
from worker.engine.interface import FinishReason, Pcm, SamplingParams, SpeechChunk
from worker.engine.requests.prompt import PlacedFrames, PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import CodecLane, EndedFrames, LaneCounters
from worker.engine.serving.engine import use_threads
from worker.engine.serving.talker_lane import SpeechPart
from worker.engine.stages.codec import CodecStage
from worker.process.children.channel import Channel
from worker.process.children.program import BROKEN_STATUS, begin_program, end_with

logger = logging.getLogger(__name__)

BEAT_S = 0.5

_NO_IDS = np.zeros(0, dtype=np.int64)
_NO_SAMPLES = np.zeros(0, dtype=np.float32)


def main() -> None:
    (channel,) = begin_program(RELEASE)
    end_with(DecoderSession(channel).serve)


class DecoderSession:
    """The lane of one device behind one channel; the lane's client."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._outbox: queue.SimpleQueue[FromDecoder] = queue.SimpleQueue()
        self._lane: CodecLane | None = None
        self._requests: dict[int, RequestState] = {}
        self._numbers: dict[RequestState, int] = {}

    def serve(self) -> NoReturn:
        threading.Thread(target=end_with, args=(self._send_all,), name="decoder-sender", daemon=True).start()
        start = self._channel.receive()
        assert isinstance(start, StartDecoder)  # noqa: S101  (of the same release)
        try:
            lane = _load(start)
            self._outbox.put(DecoderReady(codec_digest(start.checkpoint), start.device))
        except StartError as error:
            self._outbox.put(DecoderStartFailed(error))
            self._channel.receive()  # waits until the engine has read that, and hangs up
            raise
        freeze()
        lane.start(self)
        self._lane = lane
        while True:
            self._act_on(lane, self._channel.receive())

    def _act_on(self, lane: CodecLane, message: object) -> None:
        match message:
            case OpenSpeech():
                request = _request_of(message)
                self._requests[message.number] = request
                self._numbers[request] = message.number
            case PutFrames(number, frames, text_is_open):
                request = self._requests[number]
                request.is_open = text_is_open
                lane.put_part(SpeechPart(request, frames))
            case EndFrames(number, frames):
                lane.put(EndedFrames(self._requests[number], frames, FinishReason.EOS))
            case DropSpeech(number):
                request = self._requests.pop(number, None)
                if request is not None:
                    self._numbers.pop(request, None)
                    lane.drop(request)
            case _:
                raise TypeError(f"{type(message).__name__} is said by no engine")

    def _send_all(self) -> NoReturn:
        next_beat_s = time.monotonic()
        while True:
            if time.monotonic() >= next_beat_s:
                self._channel.send(DecoderBeat(self._lane.counters if self._lane else LaneCounters()))
                next_beat_s = time.monotonic() + BEAT_S
            try:
                message = self._outbox.get(timeout=max(0.01, next_beat_s - time.monotonic()))
            except queue.Empty:
                continue
            self._channel.send(message)

    # ------------------------------------------------------------------------------------------ of the lane's threads

    def is_wanted(self, request: RequestState) -> bool:
        return request in self._numbers

    @property
    def num_in_flight(self) -> int:
        return len(self._numbers)

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        number = self._numbers.get(request)
        if number is not None:
            self._outbox.put(DecodedPart(number, part.pcm))

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        number = self._numbers.pop(utterance.request, None)
        if number is not None:
            self._requests.pop(number, None)
            self._outbox.put(DecodedEnd(number, _NO_SAMPLES if utterance.request.is_streamed else pcm))

    def run_guarded(self, work: Callable[[], None]) -> None:
        try:
            with torch.inference_mode():
                work()
        except Exception:  # the engine starts another process
            logger.exception("a thread of the decoder failed")
            os._exit(BROKEN_STATUS)


@torch.inference_mode()
def _load(start: StartDecoder) -> CodecLane:
    """Raises StartError."""
    use_threads(start.num_threads)
    device = require_device(start.device)
    codec = CodecStage.load(start.checkpoint, str(device), decodes_only=True)
    return start_codec(codec, device, start.profile).lane


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


if __name__ == "__main__":
    main()
