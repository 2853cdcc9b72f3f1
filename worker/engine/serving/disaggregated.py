"""An engine that has one of the two stages: what stands where the other would be."""

from __future__ import annotations

import threading
from collections import deque
from queue import SimpleQueue

import numpy as np

from worker.engine.errors import RequestRejected
from worker.engine.interface import CodecFrames, FramesRequest, SamplingParams
from worker.engine.requests.prompt import PlacedFrames, PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.codec_lane import CodecClient, LaneCounters, Utterance
from worker.engine.serving.talker_lane import EndedSpeech, LaneStep, SpeechPart
from worker.engine.stages.codec import CodecStage


def handed_frames(request: FramesRequest, codec: CodecStage) -> RequestState:
    """A request that has been spoken already. Raises RequestRejected for frames that the codec does not have."""
    for frames in (request.frames, request.reference):
        if frames is not None:
            _require_frames(frames, codec)
    nothing = np.zeros(0, dtype=np.int64)
    reference = None if request.reference is None else PlacedFrames(0, request.reference)
    prompt = PromptLayout(nothing, nothing, nothing, num_text_tokens=0, reference=reference)
    return RequestState(
        request.request_id,
        prompt,
        SamplingParams(),
        seed=0,
        max_frames=len(request.frames),
        given=request.frames,
        urgency=request.urgency,
    )


class HandedFramesLane:
    """`TalkerLane` of a codec alone: every request has ended before it begins."""

    def __init__(self) -> None:
        self._waiting: deque[RequestState] = deque()

    @property
    def has_work(self) -> bool:
        return bool(self._waiting)

    def add(self, request: RequestState) -> None:
        self._waiting.append(request)

    def cancel(self, request: RequestState) -> None:
        if request in self._waiting:
            self._waiting.remove(request)

    def step(self) -> LaneStep:
        ended = tuple(EndedSpeech(request, RowEnd.EOS, _given(request)) for request in self._waiting)
        self._waiting.clear()
        return LaneStep(tuple(one.request for one in ended), (), ended, sum(len(one.frames) for one in ended))


class SilentCodecLane:
    """`CodecLane` of a talker: utterances leave as frames, without samples."""

    def __init__(self) -> None:
        self._utterances: SimpleQueue[Utterance | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, client: CodecClient) -> None:
        def hand_on() -> None:
            client.run_guarded(lambda: self._run(client))

        self._thread = threading.Thread(target=hand_on, name="frames-out", daemon=True)
        self._thread.start()

    def put_part(self, part: SpeechPart) -> None:
        """A talker has no samples to hear."""

    def put(self, utterance: Utterance) -> None:
        self._utterances.put(utterance)

    def drop(self, request: RequestState) -> None:
        """Nothing is kept of a request that goes on."""

    @property
    def counters(self) -> LaneCounters:
        return LaneCounters()

    def close(self) -> None:
        self._utterances.put(None)

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, client: CodecClient) -> None:
        while (utterance := self._utterances.get()) is not None:
            client.deliver(utterance, np.zeros(0, dtype=np.float32))


def _given(request: RequestState) -> CodecFrames:
    assert request.given is not None  # noqa: S101  (a codec accepts no other requests)
    return request.given


def _require_frames(frames: CodecFrames, codec: CodecStage) -> None:
    try:
        codec.require_frames(frames)
    except ValueError as error:
        raise RequestRejected(str(error)) from error
