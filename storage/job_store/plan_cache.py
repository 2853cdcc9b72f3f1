"""The plans of jobs under way: the segments of narrations, and the voices of jobs that prepare voices; and of finished
jobs the lists of their files of chapters.
"""

from __future__ import annotations

from typing import Protocol

from reading.plan.plan import Plan, decode_plan
from storage.jobs.chapter_files import ChapterFile, decode_chapter_files
from storage.objects.decoded_cache import MAX_BYTES, DecodedCache
from storage.objects.store import ArtifactStore
from storage.voices.plan import PlannedVoice, decode_voice_plan


class ChapterFileCache(DecodedCache[tuple[ChapterFile, ...]]):
    """`get` raises `ArtifactMissing` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_chapter_files, max_bytes)


VoicePlan = tuple[PlannedVoice, ...]


class Planned(Protocol):
    """A record or an item, which has its plan with it or knows where that lies."""

    @property
    def plan_key(self) -> str | None: ...
    @property
    def plan_document(self) -> str: ...


class PlanCache(DecodedCache[Plan]):
    """`get` raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_plan, max_bytes)

    def of(self, planned: Planned) -> Plan:
        """Of a job that is planned. Raises as `get`."""
        if planned.plan_key is not None:
            return self.get(planned.plan_key)
        if not planned.plan_document:
            raise ValueError("the job is not planned yet")
        return decode_plan(planned.plan_document.encode())


class VoicePlanCache(DecodedCache[VoicePlan]):
    """`get` raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_voice_plan, max_bytes)
