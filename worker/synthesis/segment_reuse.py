"""A segment that was spoken before, for another job of the same tenant, copied into this one instead of spoken again.

The copy is a separate object under this job's fence, so later changes to the first job do not affect it.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace

from rhapsode.contract.jobs.options import Reproducibility
from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.job_store.segment_reuse import ReusableSegment, SegmentContent
from storage.jobs.work_items import ClaimedItem, Lease
from storage.objects.stored_segments import read_segment_file
from storage.segments.edits import FIRST_TAKE
from storage.segments.file import SegmentFormatError
from worker.engine.interface import EngineInfo
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import SpeechServices
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment
from worker.synthesis.sentence_pauses import sentence_pauses
from worker.synthesis.spoken_segment import SpokenSegment

logger = logging.getLogger(__name__)


def reusable_content(item: ClaimedItem, segment: SpokenSegment, info: EngineInfo) -> SegmentContent | None:
    """What another job's segment must be to stand for this one; None for another take, which has to be spoken."""
    if segment.take != FIRST_TAKE:
        return None
    spec = item.narration
    chosen = spec.request.seed if spec.seed_fixed else None
    pauses = sentence_pauses(spec.request.pauses, segment)
    return SegmentContent(
        tenant=item.lease.tenant,
        text=segment.text,
        voice=voice_fingerprint(item, segment, info.revision),
        model=spec.model,
        revision=info.revision,
        language=segment.language,
        instructions=segment.instructions,
        sampling=spec.request.sampling,
        seed=chosen if segment.own_seed is None else segment.own_seed,
        occurrence=segment.occurrence,
        gate=spec.request.quality.gate,
        configuration=info.config_sha256 if spec.request.reproducibility is Reproducibility.STRICT else "",
        inner_pause_s=None if pauses is None else pauses.pause_s,
    )


def voice_fingerprint(item: ClaimedItem, segment: SpokenSegment, revision: str) -> str:
    """The model's own voice by name, an uploaded one by its content key."""
    own = segment.own_voice
    return own.content(item.lease.tenant, revision) if own else segment.voice


def find_reusable(
    content: SegmentContent, content_id: str, held: HeldLease, services: SpeechServices
) -> SegmentAudio | None:
    """The verified segment of another job with this job's header; None if there is none that is whole."""
    found = until_available(lambda: services.reuse.find(held.lease.tenant, content_id), held)
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
    data = until_available(lambda: read_segment_file(services.worker.artifacts, tenant, found.job, found.result), held)
    segment = decode_segment(data)
    if segment.header.text_sha256 != hashlib.sha256(content.text.encode()).hexdigest():
        raise SegmentFormatError("it says something else")
    return segment


def _as_own(segment: SegmentAudio, lease: Lease, found: ReusableSegment) -> SegmentAudio:
    header = replace(
        segment.header, job=lease.job, index=int(lease.item), fence=lease.fence, take=FIRST_TAKE, reused_from=found.job
    )
    return SegmentAudio(header, segment.pcm, segment.codes)
