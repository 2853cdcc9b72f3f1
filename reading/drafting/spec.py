"""What a draft depends on beside its text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reading.segmenting.lengths import LengthRules, SegmentBounds
from rhapsode.contract.jobs.narration import Narration


class CastSpeaker(Protocol):
    """One of a cast."""

    @property
    def name(self) -> str:
        """As it begins a turn."""
        ...


class ReadingSpec(Protocol):
    """`storage.narration.spec.NarrationSpec` is one, and says what its fields are."""

    @property
    def request(self) -> Narration: ...

    @property
    def model(self) -> str: ...

    @property
    def cast(self) -> Sequence[CastSpeaker]: ...

    @property
    def languages(self) -> tuple[str, ...]: ...

    @property
    def bounds(self) -> SegmentBounds: ...

    @property
    def segmentation(self) -> LengthRules: ...
