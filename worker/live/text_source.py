"""How the text of a stream comes to its segments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from reading.languages.names import NORMALIZED_LANGUAGES
from reading.languages.writing_systems import find_foreign, foreign_text_detail
from reading.plan.plan import CLOSING_MARK_BYTES, PlanSegment, with_occurrences
from reading.segmenting.lengths import SegmentBounds
from reading.spelling.job_spelling import DictionaryDamaged
from reading.written.composing import Bounds, SegmentComposer
from rhapsode.contract.jobs.input import Normalization, SegmentationMode
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from storage.errors import ArtifactMissing
from storage.live.orders import LiveOrder, LiveTextMode
from storage.narration.spec import NarrationSpec
from worker.engine.interface import EngineInfo
from worker.errors import unusable
from worker.items.leases.persistence import StorePatience, until_available
from worker.live.parts import LiveParts
from worker.live.pieces import TextPiece, TextSource
from worker.planning.drafting.draft import DraftRequest
from worker.planning.drafting.process import draft_bounded

OPENING_CHARS = 90
"""Of the first segment: it plays while the next ones are generated."""

TARGET_CHARS, MAX_CHARS = 220, 400
"""As jobs have it by default."""

_ROWS_PER_TOKEN = 4
"""What an instruction or a reference takes: see `EngineInfo.max_text_tokens`."""

_LEAST_BYTES = 64


class WrittenText:
    """A `TextSource` that reads as far as is written. Whole texts in per-frame mode too, so that both sound alike."""

    def __init__(self, order: LiveOrder, dictionaries: tuple[bytes, ...], info: EngineInfo) -> None:
        """Raises `DictionaryDamaged`."""
        narration = order.narration
        self._model, self._languages = narration.model, info.languages
        room = TextRoom.of(order, info)
        self._composer = SegmentComposer(narration, Bounds(room.max_chars, room.max_bytes), dictionaries)

    def feed(self, text: str, *, is_last: bool) -> None:
        """Raises `PermanentItemError` for letters that no language of the model is written with."""
        found = find_foreign([text], self._languages)
        if found is not None:
            detail = foreign_text_detail(found.script, found.start, self._model, self._languages)
            raise unusable("unsupported_language", detail)
        self._composer.feed(text, is_last=is_last)

    def next(self) -> TextPiece | None:
        piece = self._composer.next()
        if piece is None:
            return None
        return TextPiece(piece.segment, piece.text, piece.pause_s is not None, piece.pause_s or 0.0)

    @property
    def is_over(self) -> bool:
        return self._composer.is_over


def text_source(order: LiveOrder, parts: LiveParts, patience: StorePatience) -> TextSource:
    """Raises `PermanentItemError`, `StoreUnavailable`, and what `patience.check` does."""
    dictionaries = tuple(until_available(patience, _dictionary, key, parts) for key in order.dictionaries)
    if order.text_mode is LiveTextMode.WHOLE:
        request = DraftRequest(_spec(order, parts.engine.info), order.text.encode(), dictionaries)
        # A process reads a long text, and `check` is called meanwhile.
        return PlannedText(draft_bounded(request, patience.check).plan.segments)
    try:
        source = WrittenText(order, dictionaries, parts.engine.info)
    except DictionaryDamaged as error:
        raise unusable("internal", str(error)) from error
    source.feed(order.text, is_last=not order.text_is_open)
    return source


def load_everything() -> None:
    """What is imported or read at first use, so that the first stream does not wait for it."""
    for language in NORMALIZED_LANGUAGES:
        narration = Narration(model="", voice="", language=language, normalization=Normalization.BASIC)
        composer = SegmentComposer(narration, Bounds(100, 400), ())
        composer.feed("On the 3rd of 4 days. It was 5 km, and 6.", is_last=True)
        while composer.next() is not None:
            pass


def _dictionary(key: str, parts: LiveParts) -> bytes:
    try:
        return parts.artifacts.get(key)
    except ArtifactMissing as error:
        raise unusable("not_found", "a pronunciation dictionary is not in the store any more") from error


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


@dataclass(frozen=True, slots=True)
class TextRoom:
    """How long a segment may be: in speech units, and in bytes of UTF-8, of which each is one token at most."""

    target_chars: int
    max_chars: int
    max_bytes: int

    @classmethod
    def of(cls, order: LiveOrder, info: EngineInfo) -> Self:
        rows = float(len(order.narration.instructions.encode()))
        if order.own_voice is not None and order.own_voice.ref_text:
            reference_s = order.own_voice.source.duration_s or 0.0
            rows += len(order.own_voice.ref_text.encode()) + reference_s * info.sample_rate_hz / info.samples_per_frame
        return cls(
            min(TARGET_CHARS, info.max_text_chars),
            min(MAX_CHARS, info.max_text_chars),
            max(_LEAST_BYTES, info.max_text_tokens - math.ceil(rows / _ROWS_PER_TOKEN) - CLOSING_MARK_BYTES),
        )
