"""A submission that was decided on, stored: its voices made ready, its input put there, the job made."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from api.acceptance.acceptance import Accepted, submit_with_input
from api.http.problems.problem import HttpProblem, invalid_field, not_ready, problem
from api.jobs.submission.cast import ChosenVoice
from api.jobs.submission.decision import Decision
from api.jobs.submission.dictionaries import copy_dictionary
from api.jobs.submission.facts import Facts
from api.jobs.submission.input import UPLOAD_POINTER
from api.services.intake import JobIntake
from api.uploads.named import read_named_upload, take_named_upload
from api.voices.caches.submission import request_cache
from api.voices.matching import cache_request
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import IfCacheMissing
from storage.audio.cover import MAX_COVER_BYTES, CoverUnusable, read_cover
from storage.errors import ArtifactExists, JobGone, JobNotFound
from storage.ids import ContentKey, JobId, TenantId, UploadId
from storage.jobs.submissions import IdempotencyKey, with_plan
from storage.jobs.whole_plan import whole_plan
from storage.narration.voice_reference import VoiceCacheSpec, VoiceReference
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelCard
from storage.voices.records import CacheState
from storage.voices.store import VoiceStore

COVER_POINTER = "/output/cover"


def store(
    intake: JobIntake, request: JobRequest, facts: Facts, decision: Decision, idempotency: IdempotencyKey | None
) -> Accepted:
    """Raises a `Problem` or a `StorageError`, and leaves nothing behind then."""
    tenant, artifacts, voices = facts.tenant, intake.artifacts, decision.cast.voices
    submission, text = replace(decision.submission, idempotency=idempotency), facts.prepared.text
    if text is not None and decision.cast.lead.card.takes_whole_jobs:
        # A short text of one segment comes with its plan, and is one item.
        whole = whole_plan(text, decision.spec)
        submission = submission if whole is None else with_plan(submission, whole)
    for voice in voices:
        prepare_voice(intake, tenant, voice)

    def put() -> None:
        if request.output.cover is not None:
            copy_cover(artifacts, tenant, facts.job, request.output.cover)
        if decision.input is not None:
            artifacts.put_unread(submission.input_key, decision.input)
        elif request.input.document is not None:
            most, upload = intake.settings.max_upload_bytes, request.input.document.upload_id
            take_named_upload(artifacts, tenant, upload, UPLOAD_POINTER, most, submission.input_key)
        if facts.prepared.lines:
            artifacts.put(keys.cast_lines(tenant, facts.job), facts.prepared.lines)
        for index, dictionary in enumerate(facts.dictionaries):
            copy_dictionary(artifacts, tenant, facts.job, index, dictionary)

    def announce(job: JobId) -> None:
        """The job's first segment builds the caches, and everybody may know."""
        for voice in voices:
            if voice.own and voice.is_cacheable and voice.own.if_missing is IfCacheMissing.COMPUTE:
                intake.voices.request_caches(tenant, job, [cache_request(tenant, voice.own, voice.card)])

    return submit_with_input(intake, submission, put, announce)


def prepare_voice(intake: JobIntake, tenant: TenantId, chosen: ChosenVoice) -> None:
    """Before the job: refuse it, have its voice built or store it. Raises a `HttpProblem` or a `StorageError`."""
    own, card = chosen.own, chosen.card
    if own is not None and chosen.source is not None:
        intake.artifacts.put(own.source.key, chosen.source)
    if own is None or own.if_missing is IfCacheMissing.COMPUTE:
        return
    content = own.content(tenant, card.revision)
    if intake.voices.find_artifact(tenant, content) is not None:
        return
    if own.if_missing is IfCacheMissing.FAIL:
        raise _missing(intake.voices, tenant, own, card)
    if not _is_ordered(intake, tenant, own, content):
        request_cache(intake, tenant, own, card)


def _is_ordered(intake: JobIntake, tenant: TenantId, own: VoiceReference, content: ContentKey) -> bool:
    """Whether a job that does nothing else is going to build it; a narration may be cancelled before it does."""
    for cache in intake.voices.caches(tenant, own.voice):
        if cache.content == content and cache.state in (CacheState.PENDING, CacheState.PROCESSING) and cache.job:
            try:
                return isinstance(intake.jobs.get(tenant, cache.job).spec, VoiceCacheSpec)
            except (JobGone, JobNotFound):
                return False
    return False


def _missing(voices: VoiceStore, tenant: TenantId, own: VoiceReference, card: ModelCard) -> HttpProblem:
    caches = voices.caches(tenant, own.voice)
    known = next((cache for cache in caches if (cache.target.model, cache.target.mode) == (own.model, own.mode)), None)
    if known is not None and known.artifact is not None and known.model_revision != card.revision:
        detail = f"{own.name} was prepared for another revision of {own.model}; order its cache again"
        return problem("voice_cache_stale", detail, at="/voice", flaw="stale")
    state = "not ordered" if known is None else str(known.state)
    return not_ready(f"the {own.mode} cache of {own.name} for {own.model} is {state}", retry_after_s=2.0)


def copy_cover(artifacts: ArtifactStore, tenant: TenantId, job: JobId, upload_id: str) -> None:
    """The picture for the files, unless the job has it already. Raises a `Problem` for what is no such picture."""
    data = read_named_upload(artifacts, tenant, upload_id, COVER_POINTER, MAX_COVER_BYTES)
    try:
        read_cover(data)
    except CoverUnusable as error:
        raise invalid_field(COVER_POINTER, "unsupported_media", f"the cover cannot be used: {error}") from None
    with suppress(ArtifactExists):
        artifacts.put(keys.cover(tenant, job, UploadId(upload_id)), data)
