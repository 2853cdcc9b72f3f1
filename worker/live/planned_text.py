"""A text that is there as a whole, divided as that of a job is: for streams that speak it segment by segment."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from reading.plan.plan import PlanSegment, with_occurrences
from reading.segmenting.lengths import SegmentBounds
from rhapsode.contract.jobs.input import SegmentationMode
from rhapsode.contract.jobs.narration import SegmentLengths
from storage.live.orders import LiveOrder
from storage.narration.spec import NarrationSpec
from worker.engine.interface import EngineInfo
from worker.live.pieces import TextPiece
from worker.live.text_room import TextRoom
from worker.planning.drafting.draft import DraftRequest
from worker.planning.drafting.process import draft_bounded

OPENING_CHARS = 90
"""Of the first segment: it is heard while the next ones are spoken."""


class PlannedText:
    """A `TextSource` that takes no more text."""

    def __init__(self, segments: Sequence[PlanSegment]) -> None:
        self._pieces = deque(
            TextPiece(each.index, each.spoken_text, is_last=True, pause_s=each.pause_after_s)
            for each in with_occurrences(segments)
        )

    def feed(self, text: str, *, is_last: bool) -> None:
        """Nothing: the text was whole."""

    def next(self) -> TextPiece | None:
        return self._pieces.popleft() if self._pieces else None

    @property
    def is_over(self) -> bool:
        return not self._pieces


def plan_text(
    order: LiveOrder, dictionaries: Sequence[bytes], info: EngineInfo, check: Callable[[], None]
) -> PlannedText:
    """Raises `PermanentItemError`, and what `check` does, which is called while a process reads a long text."""
    request = DraftRequest(_spec(order, info), order.text.encode(), tuple(dictionaries))
    return PlannedText(draft_bounded(request, check).plan.segments)


def _spec(order: LiveOrder, info: EngineInfo) -> NarrationSpec:
    room = TextRoom.of(order, info)
    lengths = SegmentLengths(
        mode=SegmentationMode(info.segmentation.value), target_chars=room.target_chars, max_chars=room.max_chars
    )
    return NarrationSpec(
        request=order.narration.model_copy(update={"segmentation": lengths}),
        bounds=SegmentBounds(max_bytes=room.max_bytes, opening_chars=min(OPENING_CHARS, room.target_chars)),
        languages=info.languages,
    )
