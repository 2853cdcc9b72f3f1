"""The files of a whole job, made of its segment while that is in memory, and stored together with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from typing import IO

from reading.plan.plan import Plan
from storage.jobs.warnings import ASSEMBLY_CODES
from storage.jobs.work_items import ClaimedItem
from storage.objects.store import ArtifactStore, StoredObject
from storage.segments.results import SegmentResult
from worker.assembly.earlier import Earlier
from worker.assembly.item import Assembled, Assembly
from worker.assembly.narration import AssembledNarration, placed_narration
from worker.speech.audio.segment_audio import SegmentAudio


class WholeFiles:
    """Objects under keys of one lease: one after the other they would take three times the CPU of a folder's disk."""

    def __init__(self) -> None:
        self._objects: list[tuple[str, bytes]] = []

    def add(self, key: str, data: bytes) -> StoredObject:
        """As it will lie in the store after `store`."""
        self._objects.append((key, data))
        return StoredObject(key, len(data), hashlib.sha256(data).hexdigest())

    def store(self, artifacts: ArtifactStore) -> None:
        """Raises `StoreUnavailable`. Found there already, they were stored by a process that died before it could say
        so.
        """
        artifacts.put_together(self._objects)


def assemble_whole(
    item: ClaimedItem,
    plan: Plan,
    result: SegmentResult,
    segment: SegmentAudio,
    files: WholeFiles,
    artifacts: ArtifactStore,
) -> Assembled:
    """The same files as an assembly of the stored segment makes, added to `files`. Raises `PermanentItemError`."""
    narration = placed_narration(item.narration, plan, [result], segment.header.sample_rate_hz)
    assembly = _WholeAssembly(item, narration, segment, files, artifacts)
    return assembly.make([each for each in item.warnings if each.code not in ASSEMBLY_CODES])


class _WholeAssembly(Assembly):
    """Of files that fit into memory."""

    def __init__(
        self,
        item: ClaimedItem,
        narration: AssembledNarration,
        segment: SegmentAudio,
        files: WholeFiles,
        artifacts: ArtifactStore,
    ) -> None:
        super().__init__(item, narration, Earlier(), lambda _: iter([segment]), artifacts, _NeverDropped())
        self._files = files

    def _scratch(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(BytesIO())

    def _written(self, key: str, pieces: Iterable[bytes]) -> StoredObject:
        return self._files.add(key, b"".join(pieces))


class _NeverDropped:
    """It takes milliseconds, and whose lease it is learns at its end whether it still is one."""

    patience_s = 0.0

    def check(self) -> None:
        return
