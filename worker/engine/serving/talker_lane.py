"""Requests to frames, one step after the other: what the engine's loop drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.engine.interface import CodecFrames
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.chunks import ChunkPlan


@dataclass(frozen=True, slots=True)
class EndedSpeech:
    """`request` has left the batch with these frames (T, Q)."""

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
    num_frames: how many frames were made for those who run."""

    admitted: Sequence[RequestState]
    parts: Sequence[SpeechPart]
    ended: Sequence[EndedSpeech]
    num_frames: int


class TalkerLane(Protocol):
    """Single-threaded: belongs to the engine's loop."""

    @property
    def has_work(self) -> bool: ...

    def add(self, request: RequestState) -> None: ...

    def cancel(self, request: RequestState) -> None:
        """The request is in no later step's results. Requests that have ended are ignored."""
        ...

    def step(self) -> LaneStep:
        """Moves on by one step. There is work."""
        ...


def is_part_due(request: RequestState, chunks: ChunkPlan) -> bool:
    """Whether a streamed request has spoken a whole chunk since the last one."""
    return request.is_streamed and request.frames - request.handed_on >= chunks.length_behind(request.handed_on)
