"""What a job's owner should know although the job goes on: segments kept with a fault, targets not met. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobWarning:
    """code: one of the public contract's. segment: the index of the one it is about, None for the whole job."""

    code: str
    detail: str
    segment: int | None = None


SEGMENT_GAP = "segment_gap"
"""Silence stands where a segment could not be spoken."""

LOUDNESS_TARGET_MISSED = "loudness_target_missed"
COVER_UNUSABLE = "cover_unusable"
QUALITY_UNCALIBRATED = "quality_uncalibrated"

SEGMENT_DAMAGED = "segment_damaged"
"""The store lost or damaged what was finished; it was spoken again. Also the code of a job where that did not help."""

LANGUAGE_MISMATCH = "language_mismatch"
FOREIGN_LETTERS = "foreign_letters"
SEGMENTS_SHORTENED = "segments_shortened"
SSML_LEFT_OUT = "ssml_left_out"
"""Of SSML that is read leniently: the elements that were not done as they say."""

ASSEMBLY_CODES = (LOUDNESS_TARGET_MISSED, COVER_UNUSABLE, QUALITY_UNCALIBRATED)
"""What only an assembly warns of: the next one says it anew, or does not."""
