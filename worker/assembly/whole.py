"""The files of a whole job, made of its segment while that is in memory."""

from __future__ import annotations

from collections.abc import Iterable

from storage.jobs.warnings import ASSEMBLY_CODES
from storage.jobs.work_items import ClaimedItem
from storage.objects.store import ArtifactStore, StoredObject
from storage.segments.plan import Plan
from storage.segments.results import SegmentResult
from worker.assembly.audio.speaker_levels import speaker_levels
from worker.assembly.item import Assembled, Assembly
from worker.assembly.narration import placed_narration
from worker.leases.put_once import put_once
from worker.speech.audio.segment_audio import SegmentAudio


def assemble_whole(
    item: ClaimedItem, plan: Plan, result: SegmentResult, segment: SegmentAudio, artifacts: ArtifactStore
) -> Assembled:
    """The same files as an assembly of the stored segment makes; made again, they are found.

    Raises `StoreUnavailable` or `PermanentItemError`.
    """
    narration = placed_narration(item.narration, plan, [result], segment.header.sample_rate_hz)
    speakers = speaker_levels(narration.placed, item.narration.voice_of, ())
    assembly = _WholeAssembly(item, narration, speakers, lambda _: segment, artifacts, _NeverDropped())
    return assembly.make([each for each in item.warnings if each.code not in ASSEMBLY_CODES])


class _WholeAssembly(Assembly):
    """Of files that fit into memory."""

    def _written(self, key: str, pieces: Iterable[bytes]) -> StoredObject:
        """Found there already, it was stored by a process that died before it could say so."""
        data = b"".join(pieces)
        return StoredObject(key, len(data), put_once(self._artifacts, key, data))


class _NeverDropped:
    """It takes milliseconds, and whose lease it is learns at its end whether it still is one."""

    patience_s = 0.0

    def check(self) -> None:
        return
