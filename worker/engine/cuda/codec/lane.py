"""The codec lane of a GPU: many utterances at a time, pass by pass, beside the talker."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from worker.engine.cuda.codec.pass_runner import PASSES_UNDER_WAY, Passes, PendingPass
from worker.engine.cuda.codec.plan import CodecPlan, choose_pass, keeping
from worker.engine.cuda.codec.streams import Decode, DecodeQueue, DecodeRequest, ReferencePass
from worker.engine.interface import SpeechChunk
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import CodecClient, EndedFrames, LaneCounters
from worker.engine.serving.talker_lane import SpeechPart


@dataclass(frozen=True, slots=True)
class _Dropped:
    request: RequestState


@dataclass(frozen=True, slots=True)
class _Launched:
    """starts: of the row of each, the number of its first frame among the frames of the same."""

    pending: PendingPass
    decodes: tuple[Decode, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PassTrigger:
    """A pass begins when enough frames are waiting, or the first of them has waited for so long.

    Enough are `frames`, or `frames_a_request` for each request in flight, if these are more.

    Passes over few frames use the device badly, and the device is the talker's as well. Where fewer than
    `least_company` other requests are in flight, there is hardly a request to wait for, and none waits; nor does one
    whose samples are awaited.
    """

    frames: int
    frames_a_request: int
    seconds: float
    least_company: int


class BatchedCodecLane:
    """`CodecLane` on one thread that keeps up to two passes under way.

    A stream's samples equal those of its whole utterance up to the rounding of the device's format. Rounding depends on
    the shapes of the passes, as for any two utterances.
    """

    def __init__(
        self, passes: Passes, plan: CodecPlan, samples_per_frame: int, patience: PassTrigger, frames_beside_streams: int
    ) -> None:
        """frames_beside_streams: the most frames of a pass, over all utterances, while a stream plays."""
        self._passes = passes
        self._patience = patience
        self._plan = plan
        self._plan_beside_streams = keeping(plan, lambda shape: shape.size <= frames_beside_streams)
        self._samples_per_frame = samples_per_frame
        self._changed = threading.Condition()
        self._arrivals: list[SpeechPart | EndedFrames | _Dropped] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        # Of the lane's thread alone.
        self._decodes = DecodeQueue(passes.stream_slots, passes.scratch_slot)
        self._under_way: deque[_Launched] = deque()

    @property
    def counters(self) -> LaneCounters:
        return LaneCounters(self._passes.counters.graph_hits, self._passes.counters.fallbacks)

    def start(self, client: CodecClient) -> None:
        def decode() -> None:
            client.run_guarded(lambda: self._run(client))

        self._thread = threading.Thread(target=decode, name="codec-lane", daemon=True)
        self._thread.start()

    def put_part(self, part: SpeechPart) -> None:
        self._tell(part)

    def put(self, utterance: EndedFrames) -> None:
        self._tell(utterance)

    def drop(self, request: RequestState) -> None:
        if request.is_streamed:
            self._tell(_Dropped(request))

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _tell(self, arrival: SpeechPart | EndedFrames | _Dropped) -> None:
        with self._changed:
            self._arrivals.append(arrival)
            self._changed.notify()

    def _run(self, client: CodecClient) -> None:
        while self._take_in(client):
            if self._patience_left_s(client) <= 0 and len(self._under_way) < PASSES_UNDER_WAY:
                self._launch()
            elif self._under_way:
                self._collect(client)

    def _take_in(self, client: CodecClient) -> bool:
        """Waits while nothing is due. False once the lane is closed and has done what it could."""
        with self._changed:
            while not (self._arrivals or self._under_way or (left_s := self._patience_left_s(client)) <= 0):
                if self._closed:
                    return False
                self._changed.wait(None if left_s == math.inf else left_s)
            arrivals, self._arrivals = self._arrivals, []
        for arrival in arrivals:
            match arrival:
                case SpeechPart(request, frames):
                    self._decodes.add_part(request, frames)
                case EndedFrames():
                    self._add(arrival, client)
                case _Dropped(request):
                    self._decodes.drop(request)
        return True

    def _add(self, utterance: EndedFrames, client: CodecClient) -> None:
        if not client.is_wanted(utterance.request):
            self._decodes.drop(utterance.request)
            return
        _deliver_completed(self._decodes.add(utterance), client)

    def _patience_left_s(self, client: CodecClient) -> float:
        """Until a pass is due; infinite while there is nothing to decode."""
        ready = self._decodes.ready()
        if not ready:
            return math.inf
        if self._closed or ready.has_awaited:
            return 0.0
        in_flight = client.num_in_flight
        if ready.num_frames >= max(self._patience.frames, self._patience.frames_a_request * in_flight):
            return 0.0
        if in_flight - self._decodes.num_utterances < self._patience.least_company:
            return 0.0
        return ready.others[0].arrived_s + self._patience.seconds - time.monotonic()

    def _launch(self) -> None:
        company = self._decodes.next_company(self._decodes.ready())
        plan = self._plan_beside_streams if self._decodes.has_streams else self._plan
        choice = choose_pass(plan, [decode.num_waiting for decode in company])
        decodes = tuple(company[number] for number in choice.members)
        starts = tuple(decode.num_launched for decode in decodes)
        rows = [self._decodes.take_row(decode, choice.shape.num_frames) for decode in decodes]
        self._under_way.append(_Launched(self._passes.launch(choice.shape, rows), decodes, starts))

    def _collect(self, client: CodecClient) -> None:
        launched = self._under_way.popleft()
        for decode, start, samples in zip(launched.decodes, launched.starts, launched.pending.samples(), strict=True):
            if isinstance(decode, ReferencePass) or decode.is_dropped:
                continue
            num_heard = max(0, decode.num_dropped - start)
            part = samples[num_heard * self._samples_per_frame :]
            decode.parts.append(part)
            if decode.request.is_streamed and len(part):
                first = start + num_heard
                frames = decode.frames[first : first + len(part) // self._samples_per_frame]
                client.deliver_part(decode.request, SpeechChunk(part, frames))
            _deliver_completed(decode, client)


def _deliver_completed(decode: DecodeRequest, client: CodecClient) -> None:
    utterance = decode.completed
    if utterance is not None:
        client.deliver(utterance, np.concatenate(decode.parts) if decode.parts else np.zeros(0, dtype=np.float32))
