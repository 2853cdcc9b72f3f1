"""Protocol of talker lanes, which turn requests into frames step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.engine.interface import CodecFrames
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.chunks import ChunkPlan


@dataclass(frozen=True, slots=True)
class EndedSpeech:
    """`request` left the batch with these frames (T, Q), without its prefix."""

    request: RequestState
    end: RowEnd
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """The next frames (n, Q) of a streamed `request` that still runs. At its end, `EndedSpeech` has all of them."""

    request: RequestState
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class LaneStep:
    """admitted: requests that joined the batch; parts: new frames of streamed requests; ended: requests that left the
    batch; num_frames: number of new frames; was_cut_short: true if news interrupted the step before any work."""

    admitted: Sequence[RequestState]
    parts: Sequence[SpeechPart]
    ended: Sequence[EndedSpeech]
    num_frames: int
    was_cut_short: bool = False


@dataclass(frozen=True, slots=True)
class MoreText:
    """ids: the next text tokens of an open request. max_frames: its new limit."""

    request: RequestState
    ids: Sequence[int]
    max_frames: int
    is_last: bool


class TalkerLane(Protocol):
    """Only the engine's loop thread uses it."""

    @property
    def has_work(self) -> bool:
        """Whether a step would make frames. Requests that wait for text or for a slot do not count."""
        ...

    @property
    def num_standing(self) -> int:
        """Requests in the batch that wait for their text."""
        ...

    def add(self, request: RequestState) -> None: ...

    def extend(self, more: MoreText) -> None:
        """Append text to a request. Finished requests are ignored."""
        ...

    def cancel(self, request: RequestState) -> None:
        """Remove the request from the results of later steps. Finished requests are ignored."""
        ...

    def step(self, has_news: Callable[[], bool]) -> LaneStep:
        """Run one step. `has_work` must be true.

        has_news: whether there is a request to add, extend or cancel. If so, a lane that waits for its device may
        return early.
        """
        ...


def is_part_due(request: RequestState, chunks: ChunkPlan) -> bool:
    """Whether a streamed request has a complete new chunk."""
    return request.is_streamed and request.frames - request.handed_on >= chunks.length_behind(request.handed_on)
