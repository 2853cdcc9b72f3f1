"""The segments of one job, read from the store and held against what was recorded of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.ids import JobId, TenantId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.file import SegmentFormatError
from storage.segments.results import SegmentResult
from worker.errors import unusable
from worker.leases.keeper import HeldLease
from worker.leases.persistence import until_available
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment


@dataclass(frozen=True, slots=True)
class SegmentReader:
    """sample_rate_hz: of all segments of the job."""

    tenant: TenantId
    job: JobId
    sample_rate_hz: int
    artifacts: ArtifactStore
    held: HeldLease

    def read(self, result: SegmentResult) -> SegmentAudio:
        """The segment that was committed, or the job's error: what is damaged does not heal by trying again."""
        self.held.check()
        index = result.index
        key = keys.segment(self.tenant, self.job, index, result.fence)
        try:
            data = until_available(lambda: self.artifacts.get(key), self.held)
            if hashlib.sha256(data).hexdigest() != result.sha256:
                raise SegmentFormatError("its sha256 is not the recorded one")
            segment = decode_segment(data)
        except ArtifactMissing as error:
            raise unusable("internal", f"segment {index} is not in the store any more", index) from error
        except (ArtifactCorrupt, SegmentFormatError) as error:
            raise unusable("internal", f"segment {index} in the store is damaged: {error}", index) from error
        if len(segment.pcm) != result.num_samples:
            raise unusable("internal", f"segment {index} is not as long as recorded", index)
        if segment.header.sample_rate_hz != self.sample_rate_hz:
            found = f"{segment.header.sample_rate_hz} Hz instead of {self.sample_rate_hz}"
            raise unusable("internal", f"segment {index} was spoken by another model: it has {found}", index)
        return segment
