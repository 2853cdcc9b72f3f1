"""Requests to frames, one step after the other: what the engine's loop drives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.engine.interface import CodecFrames
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.chunks import ChunkPlan


@dataclass(frozen=True, slots=True)
class EndedSpeech:
    """`request` has left the batch with these frames (T, Q), which those of its prefix are not among."""

    request: RequestState
    end: RowEnd
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """The next frames (n, Q) of a streamed `request` that speaks on. When it ends, `EndedSpeech` brings all of them."""

    request: RequestState
    frames: CodecFrames


@dataclass(frozen=True, slots=True)
class LaneStep:
    """admitted: who joined the batch; parts: what streamed requests have said; ended: who left the batch;
    num_frames: how many frames were made for those who run; was_cut_short: nothing was done, for there was news."""

    admitted: Sequence[RequestState]
    parts: Sequence[SpeechPart]
    ended: Sequence[EndedSpeech]
    num_frames: int
    was_cut_short: bool = False


@dataclass(frozen=True, slots=True)
class MoreText:
    """ids: of an open request's text, beside later frames than those it has text for. max_frames: from now on."""

    request: RequestState
    ids: Sequence[int]
    max_frames: int
    is_last: bool


class TalkerLane(Protocol):
    """Single-threaded: belongs to the engine's loop."""

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything: requests that stand still, and those that wait for their slots, do not."""
        ...

    @property
    def num_standing(self) -> int:
        """Requests in the batch that wait for their text."""
        ...

    def add(self, request: RequestState) -> None: ...

    def extend(self, more: MoreText) -> None:
        """To a request that was added. Those that have ended are ignored."""
        ...

    def cancel(self, request: RequestState) -> None:
        """The request is in no later step's results. Requests that have ended are ignored."""
        ...

    def step(self, has_news: Callable[[], bool]) -> LaneStep:
        """Moves on by one step. There is work.

        has_news: whether there is a request to add, extend or cancel. A lane that would only wait for its device may
        return for that with nothing done.
        """
        ...


def is_part_due(request: RequestState, chunks: ChunkPlan) -> bool:
    """Whether a streamed request has spoken a whole chunk since the last one."""
    return request.is_streamed and request.frames - request.handed_on >= chunks.length_behind(request.handed_on)
