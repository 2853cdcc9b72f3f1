"""What a job's owner should know although the job goes on: segments kept with a fault, targets not met. Pure."""

from __future__ import annotations

SEGMENT_GAP = "segment_gap"
"""Silence stands where a segment could not be spoken."""

RECORDING_REPAIRED = "recording_repaired"
"""Of the job's own voice: its recording was cut, or mended."""

LOUDNESS_TARGET_MISSED = "loudness_target_missed"
COVER_UNUSABLE = "cover_unusable"
QUALITY_UNCALIBRATED = "quality_uncalibrated"

VOICE_DRIFT = "voice_drift"
"""A speaker of the cast sounds otherwise in a chapter than in the others."""

SEGMENT_DAMAGED = "segment_damaged"
"""The store lost or damaged what was finished; it was spoken again. Also the code of a job where that did not help."""

ASSEMBLY_CODES = (LOUDNESS_TARGET_MISSED, COVER_UNUSABLE, QUALITY_UNCALIBRATED, VOICE_DRIFT)
"""Warnings of an assembly alone: the next assembly replaces them."""
