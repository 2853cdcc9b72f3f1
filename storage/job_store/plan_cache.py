"""The plans of jobs under way: the segments of narrations, and the voices of jobs that prepare voices; and of finished
jobs the lists of their files of chapters.
"""

from __future__ import annotations

from storage.jobs.chapter_files import ChapterFile, decode_chapter_files
from storage.objects.decoded_cache import MAX_BYTES, DecodedCache
from storage.objects.store import ArtifactStore
from storage.segments.plan import Plan, decode_plan
from storage.voices.plan import PlannedVoice, decode_voice_plan


class ChapterFileCache(DecodedCache[tuple[ChapterFile, ...]]):
    """`get` raises `ArtifactMissing` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_chapter_files, max_bytes)


VoicePlan = tuple[PlannedVoice, ...]


class PlanCache(DecodedCache[Plan]):
    """`get` raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_plan, max_bytes)


class VoicePlanCache(DecodedCache[VoicePlan]):
    """`get` raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_voice_plan, max_bytes)
