"""The segments of one job, read from the store and held against what was recorded of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reading.plan.plan import segment_id
from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.ids import JobId, TenantId
from storage.objects.store import ArtifactStore
from storage.objects.stored_segments import read_segment_file, segment_key
from storage.segments.file import SegmentFormatError
from storage.segments.results import SegmentResult
from worker.assembly.in_order import in_order
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment

MOST_READ_AHEAD = 8
"""A store in a network takes 10 to 30 ms to begin with an answer: one after the other, ten hours would take minutes."""


class SegmentDamaged(Exception):
    """A segment that was committed is not there, or not as it was. found: for the log alone.

    own_key: of the object that holds nothing else; None of one that lies in a pack with others, whose index says that
    it is not as it was.
    """

    def __init__(self, segment: int, own_key: str | None, what: str, found: str) -> None:
        super().__init__(f"{segment_id(segment)} {what}")
        self.segment = segment
        self.own_key = own_key
        self.found = found


@dataclass(frozen=True, slots=True)
class SegmentFetcher:
    """sample_rate_hz: of all segments of the job."""

    tenant: TenantId
    job: JobId
    sample_rate_hz: int
    artifacts: ArtifactStore
    held: HeldLease

    def read_all(self, results: Iterable[SegmentResult]) -> Iterator[SegmentAudio]:
        """In order, several at a time. Raises as `read` does."""
        return in_order(self.read, results, MOST_READ_AHEAD, "reader")

    def read(self, result: SegmentResult) -> SegmentAudio:
        """The segment that was committed. Raises `SegmentDamaged`, or `PermanentItemError` for another model's."""
        self.held.check()
        index = result.index
        key = segment_key(self.tenant, self.job, result) if result.place is None else None
        try:
            data = until_available(self.held, read_segment_file, self.artifacts, self.tenant, self.job, result)
            segment = decode_segment(data)
        except ArtifactMissing as error:
            raise SegmentDamaged(index, key, "is not in the store any more", str(error)) from error
        except (ArtifactCorrupt, SegmentFormatError) as error:
            raise SegmentDamaged(index, key, "is damaged in the store", str(error)) from error
        if len(segment.pcm) != result.num_samples:
            raise SegmentDamaged(index, key, "is damaged in the store", f"{len(segment.pcm)} samples")
        if segment.header.sample_rate_hz != self.sample_rate_hz:
            found = f"{segment.header.sample_rate_hz} Hz instead of {self.sample_rate_hz}"
            raise unusable("internal", f"segment {index} was spoken by another model: it has {found}", index)
        return segment
