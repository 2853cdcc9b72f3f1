"""A segment of this very job that lies in the store although Redis does not know it: it was restored from a backup.

What a worker stored is right, whether or not its commit was remembered, if it says the same in the same voice.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace
from functools import partial

from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.jobs.work_items import ClaimedItem
from storage.objects.stored_segments import FoundSegment, find_segments
from storage.segments.file import SegmentFormatError, SegmentHeader
from worker.engine.interface import EngineInfo
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import SpeechServices
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment
from worker.synthesis.segment_reuse import voice_fingerprint
from worker.synthesis.spoken_segment import SpokenSegment

logger = logging.getLogger(__name__)


def find_recovered(
    item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> SegmentAudio | None:
    """The newest one, with this lease's fence; None if there is none that fits."""
    wanted = _wanted(item, segment, services.engine.info)
    for candidate in _candidates(item, held, services):
        try:
            found = decode_segment(until_available(partial(candidate.read, services.worker.artifacts), held))
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
    found = until_available(
        lambda: find_segments(services.worker.artifacts, lease.tenant, lease.job, int(lease.item)), held
    )
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
