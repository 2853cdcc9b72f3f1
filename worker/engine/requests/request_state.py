"""What the engine knows about one request while it is in the talker. Pure: no tensors, no clock."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.engine.interface import CodecFrames, SamplingParams, Urgency
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

    `frames` counts the finished frames, those of the prefix with them; the scheduler alone changes it. `is_streamed`:
    its samples are sent while it speaks. `handed_on` counts the frames, prefix included, that were passed on for that
    before the end. The talker's lane alone changes it. prefix: (P, Q), frames that were made elsewhere. `is_open`: more
    of its text may come; the talker's lane alone changes it, and `prompt` with it. heard_until_s: on the monotonic
    clock, when the sent audio of a stream ends; the codec's lane sets it.
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
    heard_until_s: float = 0.0
    prefix: CodecFrames | None = None
    is_open: bool = False

    def __post_init__(self) -> None:
        self.frames = self.handed_on = self.num_prefix

    @property
    def num_prefix(self) -> int:
        return 0 if self.prefix is None else len(self.prefix)

    @property
    def num_input_rows(self) -> int:
        """What the talker reads before the first frame that it makes: the prompt, and the prefix's frames."""
        return self.prompt.num_rows + self.num_prefix

    @property
    def most_frames_now(self) -> int:
        """How many frames it may have as far as its text is known; the step behind the last one finds the end."""
        return len(self.prompt.trailing_text_ids) if self.is_open else self.max_frames + 1

    @property
    def stands_still(self) -> bool:
        """The text of the next frame is not known yet."""
        return self.is_open and self.frames >= self.most_frames_now

    def extend_text(self, ids: Sequence[int], max_frames: int, *, is_last: bool) -> None:
        """ids: of text that stands beside later frames. max_frames: from now on."""
        trailing = np.append(self.prompt.trailing_text_ids, np.array(ids, dtype=np.int64))
        self.prompt = replace(self.prompt, trailing_text_ids=trailing)
        self.max_frames = max_frames
        self.is_open = not is_last

    @property
    def is_awaited(self) -> bool:
        """A listener waits for its next samples, and not only for the job that it is part of."""
        return self.is_streamed or self.urgency is not Urgency.BULK

    @property
    def attention_length(self) -> int:
        """Positions that the next frame step of this request reads, its own included."""
        return self.prompt.num_rows + self.frames
