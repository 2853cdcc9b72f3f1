"""Protocol of codec lanes, which decode frames to samples in parallel with the talker.

The engine owns the futures and knows which requests were cancelled.
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
    """The frames (T, Q) of a finished request, without its prefix."""

    request: RequestState
    frames: CodecFrames
    finish_reason: FinishReason

    @property
    def reference(self) -> CodecFrames | None:
        """Frames (R, Q) before the utterance. The codec decodes them first, and their samples are dropped."""
        placed = self.request.prompt.reference
        return None if placed is None else placed.codes


class CodecClient(Protocol):
    """The engine's callbacks for a lane. Any thread may call any method."""

    def is_wanted(self, request: RequestState) -> bool:
        """False once the request was cancelled."""
        ...

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        """The next chunk of a streamed request: one call at a time, and each before `deliver`."""
        ...

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        """The samples (T · samples_per_frame,) of the utterance, without its reference and its prefix."""
        ...

    @property
    def num_in_flight(self) -> int:
        """Requests that wait, run or are being decoded."""
        ...

    def run_guarded(self, work: Callable[[], None]) -> None:
        """Runs a lane's thread. An unexpected error ends the engine."""
        ...


@dataclass(frozen=True, slots=True)
class LaneCounters:
    """graph_passes: passes since the start that replayed a captured graph. fallbacks: passes without a fitting graph.

    start_beats: signs that decoders load or are sought. num_away: 1 while no decoder is in reach.
    """

    graph_passes: int = 0
    fallbacks: int = 0
    start_beats: int = 0
    num_away: int = 0

    def plus(self, other: LaneCounters) -> LaneCounters:
        return LaneCounters(
            self.graph_passes + other.graph_passes,
            self.fallbacks + other.fallbacks,
            self.start_beats + other.start_beats,
        )


class CodecLane(Protocol):
    """Decodes in parallel with the talker, in any order. It delivers each utterance once, unless it was cancelled.

    One thread sends parts, utterances and drops; it never waits for audio. After `close`, the lane's threads finish
    their current pass and end; `join` waits for them. Any thread may call `close`, also repeatedly.
    """

    def start(self, client: CodecClient) -> None: ...

    def put_part(self, part: SpeechPart) -> None:
        """The next frames of a streamed request; its later `put` has all of them."""
        ...

    def put(self, utterance: EndedFrames) -> None: ...

    def drop(self, request: RequestState) -> None:
        """Forgets a streamed request. Others are ignored."""
        ...

    @property
    def counters(self) -> LaneCounters: ...

    def close(self) -> None: ...

    def join(self) -> None: ...
