"""What there is to assemble: the plan, the finished segments and where each has its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from reading.plan.plan import Plan, PlanFormatError, PlanSegment
from reading.segmenting.sentences import sentences
from rhapsode.contract.jobs.output import ChapterMarks
from rhapsode.contract.jobs.quality import SEGMENT_QUALITY
from storage.errors import ArtifactMissing
from storage.job_store.plan_cache import PlanCache
from storage.jobs.record import JobRecord
from storage.jobs.work_items import ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.segments.edits import UNEDITED, SegmentEdit
from storage.segments.results import SILENCED, SegmentResult
from storage.segments.timeline import ChapterSpan, Pacing, Placed, SegmentsIncomplete, chapter_spans, place_segments
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import as_edited, until_available
from worker.services import WorkerServices

Say = Callable[[PlanSegment, SegmentEdit], PlanSegment]
"""A segment as it is said with an edit."""


@dataclass(frozen=True, slots=True)
class AssembledNarration:
    """sample_rate_hz: of the segments. chapters: empty if the document has none or no marks are wanted.

    language: the job's.
    """

    plan: Plan
    placed: tuple[Placed, ...]
    sample_rate_hz: int
    chapters: tuple[ChapterSpan, ...]
    language: str = ""

    @property
    def num_samples(self) -> int:
        return self.placed[-1].end

    @property
    def duration_s(self) -> float:
        return self.num_samples / self.sample_rate_hz


def load_narration(
    item: ClaimedItem, record: JobRecord, held: HeldLease, services: WorkerServices
) -> AssembledNarration:
    """Raises `PermanentItemError` if plan and results are not there, do not belong together, or say nothing at all."""
    lease = item.lease
    results = until_available(held, services.jobs.segment_results, lease.tenant, lease.job)
    edits = until_available(held, services.jobs.segment_edits, lease.tenant, lease.job)
    say = as_edited(item, held, services.artifacts)
    plan = _edited(until_available(held, _plan, item, services.plans), edits, say)
    return placed_narration(item.narration, plan, results, record.sample_rate_hz)


def placed_narration(
    spec: NarrationSpec, plan: Plan, results: list[SegmentResult], sample_rate_hz: int
) -> AssembledNarration:
    """plan: as it was spoken. Raises `PermanentItemError` as `load_narration` does."""
    # A narration of gaps alone is none, whatever the job makes of a gap.
    if results and all(SILENCED in result.flags for result in results):
        raise unusable(SEGMENT_QUALITY, "nothing of the text could be spoken: every segment is a gap", results[0].index)
    output = spec.request.output
    try:
        placed = place_segments(plan.segments, results, sample_rate_hz, Pacing.of(output))
    except SegmentsIncomplete as error:
        raise unusable("internal", str(error)) from error
    wanted = output.chapters is ChapterMarks.AUTO
    chapters = chapter_spans(plan.chapters, placed, sample_rate_hz) if wanted else ()
    return AssembledNarration(plan, placed, sample_rate_hz, chapters, spec.request.language)


def _plan(item: ClaimedItem, plans: PlanCache) -> Plan:
    try:
        return plans.of(item)
    except ArtifactMissing as error:
        raise unusable("internal", "the job's plan is not in the store any more") from error
    except PlanFormatError as error:
        raise unusable("internal", "the job's plan in the store is damaged") from error


def _edited(plan: Plan, edits: Mapping[int, SegmentEdit], say: Say) -> Plan:
    """The plan as it was spoken; the cached one is not touched."""
    if not edits:
        return plan
    segments = tuple(_said(planned, edits.get(planned.index, UNEDITED), say) for planned in plan.segments)
    return replace(plan, segments=segments)


def _said(planned: PlanSegment, edit: SegmentEdit, say: Say) -> PlanSegment:
    """Of a text that its user put in place of a whole segment, the sentences are found here.

    What is read over the end of a sentence has no place for it.
    """
    said = say(planned, edit)
    if edit.text is None:
        return said
    starts = [each.start for each in sentences(edit.text, 0, len(edit.text))][1:]
    before = [(at, say(planned, replace(edit, text=edit.text[:at])).text) for at in starts]
    breaks = tuple((said.end - said.start, len(text), at) for at, text in before if said.text.startswith(text))
    return replace(said, breaks=breaks)
