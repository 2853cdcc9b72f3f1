"""A segment that is in the store already is copied instead of spoken again.

Another job of the same tenant spoke it, or this job did and its Redis was restored from a backup. A copy of another
job's is a separate object under this job's fence, so later changes to that job do not affect it.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace

from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.job_store.segment_reuse import ReusableSegment, SegmentContent
from storage.jobs.work_items import ClaimedItem, Lease
from storage.objects.stored_segments import FoundSegment, find_segments, read_segment_file
from storage.segments.edits import FIRST_TAKE
from storage.segments.file import SegmentFormatError, SegmentHeader
from worker.engine.interface import EngineInfo
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import SpeechServices
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment
from worker.synthesis.segment_record import voice_fingerprint
from worker.synthesis.spoken_segment import SpokenSegment

logger = logging.getLogger(__name__)


def find_copy(
    item: ClaimedItem,
    segment: SpokenSegment,
    content: SegmentContent | None,
    held: HeldLease,
    services: SpeechServices,
) -> SegmentAudio | None:
    """The segment with this lease's fence; None if the store has none that fits.

    content: what another job's segment must be; None if it has to be spoken.
    """
    found = _of_this_job(item, segment, held, services) if item.recovered and segment.text else None
    if found is None and content is not None and item.narration.request.reuse:
        found = _of_another_job(content, held, services)
    return found


def _of_this_job(
    item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> SegmentAudio | None:
    """The newest one that says the same in the same voice. Whether its commit was remembered does not matter."""
    wanted = _wanted(item, segment, services.engine.info)
    for candidate in _candidates(item, held, services):
        try:
            found = decode_segment(until_available(held, candidate.read, services.worker.artifacts))
        except (ArtifactMissing, ArtifactCorrupt, SegmentFormatError) as error:
            logger.info("a stored segment cannot be taken", extra={"error": str(error)})
            continue
        if _facts(found.header) == wanted:
            logger.info("segment found in the store")
            return SegmentAudio(replace(found.header, fence=item.lease.fence), found.pcm, found.codes)
    return None


def _candidates(item: ClaimedItem, held: HeldLease, services: SpeechServices) -> list[FoundSegment]:
    """Everything of this index but what our own lease has stored, the newest first."""
    lease = item.lease
    found = until_available(held, find_segments, services.worker.artifacts, lease.tenant, lease.job, int(lease.item))
    return [each for each in found if each.fence != lease.fence]


def _wanted(item: ClaimedItem, segment: SpokenSegment, info: EngineInfo) -> tuple[str | int, ...]:
    text_sha256 = hashlib.sha256(segment.text.encode()).hexdigest()
    voice = voice_fingerprint(item, segment, info.revision)
    return (item.lease.job, text_sha256, item.narration.model, info.revision, voice, segment.language, segment.take)


def _facts(header: SegmentHeader) -> tuple[str | int, ...]:
    return (
        *(header.job, header.text_sha256, header.model, header.revision),
        *(header.voice, header.language, header.take),
    )


def _of_another_job(content: SegmentContent, held: HeldLease, services: SpeechServices) -> SegmentAudio | None:
    """The verified segment with this job's header; None if there is none that is whole."""
    found = until_available(held, services.reuse.find, held.lease.tenant, content.id)
    if found is None or found.job == held.lease.job:
        return None
    try:
        segment = _verified(found, content, held, services)
    except (ArtifactMissing, ArtifactCorrupt, SegmentFormatError) as error:
        # It was deleted meanwhile, or damaged: then it is spoken, as if there had been none.
        logger.info("segment of an earlier job cannot be reused", extra={"source": found.job, "error": str(error)})
        return None
    return _as_own(segment, held.lease, found)


def _verified(
    found: ReusableSegment, content: SegmentContent, held: HeldLease, services: SpeechServices
) -> SegmentAudio:
    """Raises `ArtifactMissing`, `ArtifactCorrupt` or `SegmentFormatError`."""
    tenant = held.lease.tenant
    data = until_available(held, read_segment_file, services.worker.artifacts, tenant, found.job, found.result)
    segment = decode_segment(data)
    if segment.header.text_sha256 != hashlib.sha256(content.text.encode()).hexdigest():
        raise SegmentFormatError("it says something else")
    return segment


def _as_own(segment: SegmentAudio, lease: Lease, found: ReusableSegment) -> SegmentAudio:
    header = replace(
        segment.header, job=lease.job, index=int(lease.item), fence=lease.fence, take=FIRST_TAKE, reused_from=found.job
    )
    return SegmentAudio(header, segment.pcm, segment.codes)
