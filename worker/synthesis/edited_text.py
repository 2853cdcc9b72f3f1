"""A segment with its user's edit over it, whose new words are said as those of the plan are."""

from __future__ import annotations

from reading.plan.plan import PlanSegment
from storage.errors import ArtifactMissing
from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.edited import edited
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available


def as_edited(item: ClaimedItem, planned: PlanSegment, held: HeldLease, artifacts: ArtifactStore) -> PlanSegment:
    """Raises `PermanentItemError` if the store has lost or damaged a dictionary of the job."""
    edit = item.edit
    if edit.text is None and edit.sentences is None:
        return edited(planned, edit)
    # Rules of languages take memory that a worker of GPUs spares until somebody edits a text.
    from reading.spelling.job_spelling import DictionaryDamaged, spelled

    request = item.narration.request
    language = edit.language or planned.language or request.language
    dictionaries = [
        _dictionary(item, number, held, artifacts) for number in range(len(request.pronunciation_dictionaries))
    ]
    try:
        return edited(planned, edit, lambda text: spelled(text, language, request, dictionaries))
    except DictionaryDamaged as error:
        raise unusable("internal", str(error)) from error


def _dictionary(item: ClaimedItem, number: int, held: HeldLease, artifacts: ArtifactStore) -> bytes:
    key = keys.job_dictionary(item.lease.tenant, item.lease.job, number)
    try:
        return until_available(lambda: artifacts.get(key), held)
    except ArtifactMissing as error:
        raise unusable("internal", "a pronunciation dictionary of the job is not in the store any more") from error
