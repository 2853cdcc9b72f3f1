"""The plan item: from the stored input to the list of segments."""

from __future__ import annotations

import logging
from dataclasses import replace

from reading.drafting.draft import Draft
from reading.plan.plan import Plan, encode_plan
from rhapsode.contract.jobs.input import SourceType
from rhapsode.contract.voices.modes import IfCacheMissing
from storage.errors import ArtifactMissing
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, PlanResult
from storage.narration.first_words import first_words
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.runtime.config.failpoints import failpoint
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import put_fenced, until_available
from worker.planning.drafting.draft import DraftRequest
from worker.planning.drafting.process import draft_bounded
from worker.planning.preview import finish_preview
from worker.planning.voice_waiting import wait_for_voice
from worker.services import WorkerServices

logger = logging.getLogger(__name__)


def run_plan(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Segment the job's input, store the plan, open the job's window; returns the tickets to send.

    The input is read once in a job's life, so unlike the plan it is not cached.
    """
    _wait_for_voices(item.narration, held, services)
    draft = _drafted(item, held, services.artifacts)
    if item.narration.request.validate_only:
        return finish_preview(item, draft, held, services)
    plan = _with_keys(draft, item)
    _store_script(plan, draft, held, services)
    key, data = keys.plan(item.lease), encode_plan(plan)
    put_fenced(services.artifacts, key, data, held)
    failpoint("plan.after_put")
    result = PlanResult(
        plan_key=key,
        num_segments=len(plan.segments),
        estimated_audio_ms=draft.speech_ms,
        input_chars=len(draft.text),
        warnings=draft.warnings,
        first_words=first_words(draft.text),
    )
    tickets = until_available(held, services.jobs.commit_plan, item.lease, result)
    failpoint("plan.before_tickets")
    logger.info("job planned", extra={"segments": result.num_segments, "chars": result.input_chars})
    return tickets


def _drafted(item: ClaimedItem, held: HeldLease, artifacts: ArtifactStore) -> Draft:
    """But for short texts no character of the input is read here: that is for a process which may die of it."""
    spec, lease = item.narration, item.lease
    data = until_available(held, _stored, item.input_key, "the job's input", artifacts)
    dictionaries = tuple(
        until_available(held, _stored, key, "a pronunciation dictionary of the job", artifacts)
        for key in (
            keys.job_dictionary(lease.tenant, lease.job, index)
            for index in range(len(spec.request.pronunciation_dictionaries))
        )
    )
    lines = b""
    if spec.request.input.has_lines:
        key = keys.cast_lines(lease.tenant, lease.job)
        lines = until_available(held, _stored, key, "the cast of the job", artifacts)
    return draft_bounded(DraftRequest(spec, data, dictionaries, lines), held.check)


def _stored(key: str, name: str, artifacts: ArtifactStore) -> bytes:
    try:
        return artifacts.get(key)
    except ArtifactMissing as error:
        raise unusable("internal", f"{name} is not in the store any more") from error


def _with_keys(draft: Draft, item: ClaimedItem) -> Plan:
    """The plan, with where the things lie that it refers to. A stored input of text is the very text."""
    is_plain = item.narration.request.input.type is SourceType.TEXT
    return replace(
        draft.plan,
        cover_key=None if draft.cover is None else keys.plan_cover(item.lease),
        text_key=None if is_plain else keys.plan_text(item.lease),
    )


def _store_script(plan: Plan, draft: Draft, held: HeldLease, services: WorkerServices) -> None:
    """What the plan refers to, before the plan."""
    parts = ((plan.text_key, draft.text.encode()), (plan.cover_key, draft.cover))
    for key, data in parts:
        if key is not None and data is not None:
            put_fenced(services.artifacts, key, data, held)


def _wait_for_voices(spec: NarrationSpec, held: HeldLease, services: WorkerServices) -> None:
    for voice in (spec.own_voice, *(member.own_voice for member in spec.cast)):
        if voice is not None and voice.if_missing is IfCacheMissing.WAIT:
            wait_for_voice(voice, held, services)
