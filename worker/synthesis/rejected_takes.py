"""The attempts at a segment that failed, stored so that the user can listen to what was wrong."""

from __future__ import annotations

from dataclasses import replace

from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.segments.tried import RejectedTake, Rejection
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import SpeechServices
from worker.speech.quality.findings import Defect
from worker.synthesis.attempts import SegmentOutcome, SegmentRejected, SpokenAttempt
from worker.synthesis.segment_header import segment_header
from worker.synthesis.spoken_segment import SpokenSegment

_NO_SAMPLES = frozenset({Defect.REFUSED.value, Defect.NOT_FINITE.value})
"""Attempts with these have nothing that a file could hold."""


def store_rejected(
    rejected: SegmentRejected, item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> SegmentRejected:
    """The same failure with its takes named. Raises as the post-processor does, and `WorkDropped`."""
    takes = [_stored(attempt, item, segment, held, services) for attempt in rejected.attempts]
    rejection = Rejection(item.lease.fence, tuple(takes), rejected.least_bad)
    error = replace(rejected.error, rejection=rejection)
    return SegmentRejected(error, rejected.attempts, rejected.least_bad)


def _stored(
    attempt: SpokenAttempt, item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> RejectedTake:
    if not _NO_SAMPLES.isdisjoint(attempt.verdict.flags):
        return RejectedTake(attempt.tried)
    lease = item.lease
    key = keys.rejected_take(lease.tenant, lease.job, segment.index, lease.fence, attempt.manner.number)
    as_kept = SegmentOutcome(attempt, attempt.speech, (attempt,), attempt.verdict.flags)
    header = segment_header(item, segment, as_kept, services.engine.info)
    stored = until_available(lambda: services.postprocessor.store(key, header, attempt.speech), held)
    return RejectedTake(attempt.tried, stored.num_samples, stored.sha256)
