"""What the owner of a planned job should know although it goes on. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storage.jobs.warnings import SEGMENTS_SHORTENED, JobWarning
from storage.narration.spec import NarrationSpec
from storage.segments.plan import PlannedSegment
from worker.planning.languages import language_warnings


def plan_warnings(segments: Sequence[PlannedSegment], spec: NarrationSpec) -> tuple[JobWarning, ...]:
    return (*_shortened(spec), *language_warnings(segments, spec))


def _shortened(spec: NarrationSpec) -> Iterator[JobWarning]:
    """Not to who left the lengths to us, or got those that were asked for."""
    wanted = spec.segmentation
    if wanted.asked_chars:
        detail = (
            f"segments of up to {wanted.asked_chars} characters were asked for, and {spec.model} speaks at most "
            f"{wanted.max_chars}: longer sentences are cut at their clauses"
        )
        yield JobWarning(SEGMENTS_SHORTENED, detail)
