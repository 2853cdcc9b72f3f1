"""What the engine knows about one request while it is in the talker. Pure: no tensors, no clock."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from worker.engine.interface import SamplingParams, Urgency
from worker.engine.requests.prompt import PromptLayout


class RowEnd(enum.IntEnum):
    """What a frame step says about a row. The numbers are those of the device's status tensor."""

    RUNNING = 0
    EOS = 1
    LENGTH = 2
    NON_FINITE = 3


@dataclass(slots=True, eq=False)
class RequestState:
    """One submission: an id may be used again once its request is over, so identity is the object's.

    `frames` counts the finished frames; the scheduler alone changes it. `is_streamed`: its samples are wanted while it
    speaks; `handed_on` counts the frames that the talker's lane, which alone changes it, has handed on for that before
    the end.
    """

    request_id: str
    prompt: PromptLayout
    sampling: SamplingParams
    seed: int
    max_frames: int
    frames: int = 0
    urgency: Urgency = Urgency.BULK
    is_opening: bool = False
    is_streamed: bool = False
    handed_on: int = 0

    @property
    def is_awaited(self) -> bool:
        """A listener waits for its next samples, and not only for the job that it is part of."""
        return self.is_streamed or self.urgency is Urgency.INTERACTIVE

    @property
    def attention_length(self) -> int:
        """Positions that the next frame step of this request reads, its own included."""
        return self.prompt.num_rows + self.frames
