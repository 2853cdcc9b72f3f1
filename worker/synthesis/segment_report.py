"""What a worker says of a segment that lies in the store. Pure."""

from __future__ import annotations

from rhapsode.contract.jobs.quality import SEGMENT_QUALITY
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentReport
from worker.speech.postprocessing.interface import StoredSpeech
from worker.synthesis.attempts import SegmentOutcome
from worker.synthesis.spoken_segment import SpokenSegment


def segment_report(
    header: SegmentHeader,
    stored: StoredSpeech,
    segment: SpokenSegment,
    reuse_id: str,
    outcome: SegmentOutcome | None = None,
) -> SegmentReport:
    """reuse_id: of the content, "" if no other job may have it. outcome: None for a segment that was copied."""
    return SegmentReport(
        num_samples=stored.num_samples,
        sample_rate_hz=header.sample_rate_hz,
        num_chars=segment.num_chars,
        sha256=stored.sha256,
        stored_bytes=stored.num_bytes,
        place=stored.place,
        finish_reason=header.finish_reason,
        engine_ms=round(outcome.engine_s * 1000) if outcome else 0,
        seed=header.seed,
        attempts=len(outcome.attempts) if outcome else 0,
        reused=outcome is None,
        take=segment.take,
        loudness_lufs=header.loudness_lufs,
        flags=header.flags,
        guessed=header.guessed,
        warning=outcome.warning if outcome else "",
        warning_code=outcome.warning_code if outcome else SEGMENT_QUALITY,
        # What did not pass is nothing to offer to others.
        reuse_id="" if header.flags else reuse_id,
    )
