"""What a job's owner should know of its text although the job goes on. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextWarning:
    """code: one of the public contract's. segment: the index of the one it is about, None for the whole job."""

    code: str
    detail: str
    segment: int | None = None


LANGUAGE_MISMATCH = "language_mismatch"

FOREIGN_LETTERS = "foreign_letters"

SEGMENTS_SHORTENED = "segments_shortened"

DOCUMENT_REPAIRED = "document_repaired"
"""Of a document that is broken: what was skipped, mended or guessed."""

LINES_NOT_FOUND = "lines_not_found"
"""Of a cast: ids of lines that the text does not have."""

SSML_LEFT_OUT = "ssml_left_out"
"""Of SSML that is read leniently: the elements that were not done as they say."""
