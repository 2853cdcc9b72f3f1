"""What is drawn of a narration: the public contract."""

from __future__ import annotations

from pydantic import Field

from rhapsode.contract.base import Answer


class WaveformChapter(Answer):
    """`first_segment`: index of the one that it begins with."""

    title: str
    first_segment: int


class SegmentPeaks(Answer):
    """Of a segment that is done. `sha256`: of the take that it is of, as the segment has it."""

    segment: str
    index: int
    sha256: str
    peaks: str | None = Field(
        description="base64: peak levels of equal parts of the segment, a byte each; 255 is full scale. Null for a "
        "segment of a release before 0.2."
    )


class Waveform(Answer):
    """Of the segments that are done, in the order of the narration. `chapters`: of the whole, in each page."""

    chapters: tuple[WaveformChapter, ...]
    data: tuple[SegmentPeaks, ...]
    next_cursor: str | None
    has_more: bool
