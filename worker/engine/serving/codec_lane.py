"""Frames to samples, beside the talker: what every codec lane is.

A lane knows frames and samples. Futures and what a request may still want are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from worker.engine.interface import CodecFrames, FinishReason, Pcm, SpeechChunk
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.talker_lane import SpeechPart


@dataclass(frozen=True, slots=True)
class EndedFrames:
    """The frames (T, Q) of a request whose speech has ended, without those of its prefix."""

    request: RequestState
    frames: CodecFrames
    finish_reason: FinishReason

    @property
    def reference(self) -> CodecFrames | None:
        """Frames (R, Q) that the utterance goes on from: the codec hears them first, their samples are dropped."""
        placed = self.request.prompt.reference
        return None if placed is None else placed.codes


class CodecClient(Protocol):
    """The engine as a lane sees it. Any thread may call any method."""

    def is_wanted(self, request: RequestState) -> bool:
        """False once the request was cancelled: no need to decode."""
        ...

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        """The next chunk of a streamed request, one call at a time, all of them before `deliver`."""
        ...

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        """The samples (T · samples_per_frame,) of the utterance, without those of its reference and its prefix."""
        ...

    @property
    def num_in_flight(self) -> int:
        """Requests that wait, speak or are being decoded."""
        ...

    def run_guarded(self, work: Callable[[], None]) -> None:
        """The outermost frame of a thread of the lane: an unforeseen error ends the engine."""
        ...


@dataclass(frozen=True, slots=True)
class LaneCounters:
    """Passes since start that replayed a captured graph, and passes that a plan of graphs did not foresee.

    start_beats: heartbeats of decoder processes while they loaded.
    """

    graph_passes: int = 0
    fallbacks: int = 0
    start_beats: int = 0

    def plus(self, other: LaneCounters) -> LaneCounters:
        return LaneCounters(
            self.graph_passes + other.graph_passes,
            self.fallbacks + other.fallbacks,
            self.start_beats + other.start_beats,
        )


class CodecLane(Protocol):
    """Decodes beside the talker, in any order; every utterance that is still wanted is delivered once.

    Parts, utterances and drops come from one thread, which never waits for audio. `close` lets the lane's threads end
    after what they are decoding and may be called from any thread, several times; `join` waits for them.
    """

    def start(self, client: CodecClient) -> None: ...

    def put_part(self, part: SpeechPart) -> None:
        """Frames of a streamed request that will have more; its `put` brings all of them."""
        ...

    def put(self, utterance: EndedFrames) -> None: ...

    def drop(self, request: RequestState) -> None:
        """A streamed request that will not be `put`. Others are ignored."""
        ...

    @property
    def counters(self) -> LaneCounters: ...

    def close(self) -> None: ...

    def join(self) -> None: ...
