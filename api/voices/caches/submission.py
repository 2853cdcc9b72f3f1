"""The story of an order of caches: which voices, for which model, then a job that makes them ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.acceptance.acceptance import Accepted, find_response, submit_with_input
from api.http.problems.problem import invalid_field, no_clones, problem
from api.services.intake import JobIntake
from api.voices.caches.view import shown_state
from api.voices.matching import cache_request, choose_mode, choose_model, cloning_models, modes_of, reference
from api.webhooks.job_webhook import choose_webhook
from rhapsode.contract.jobs.states import Priority
from rhapsode.contract.voices.caches import BulkCacheOrder, CacheFilter, CacheOrder
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import VOICE_ID, TenantId, VoiceId, new_job_id
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.webhook_target import WebhookTarget
from storage.narration.voice_reference import VOICE_COST_MS, VoiceCacheSpec, VoiceReference
from storage.objects.keys import voice_list
from storage.queue.model_registry import ModelCard
from storage.voices.plan import encode_voice_plan
from storage.voices.records import CacheState, VoiceCacheRecord, VoiceRecord

BUILD_S = 1
"""When it is worth looking whether one voice is ready."""

RETENTION_S = 7 * 24 * 3600
PAGE = 500
MAX_BULK_VOICES = 20_000


def order_caches(intake: JobIntake, tenant: TenantId, record: VoiceRecord, order: CacheOrder) -> list[VoiceCacheRecord]:
    """See that the voice becomes ready for every model asked for; what is ready already starts no job."""
    wanted = list(_wanted(record, order, intake.models.list()))
    known = {cache.content: cache for cache in intake.voices.caches(tenant, record.id)}
    for voice, card in wanted:
        cache = known.get(voice.content(tenant, card.revision))
        # What another job is about to build is shared with it.
        if order.force or cache is None or cache.state is CacheState.FAILED:
            request_cache(intake, tenant, voice, card, rebuild=order.force)
    contents = {voice.content(tenant, card.revision) for voice, card in wanted}
    return [cache for cache in intake.voices.caches(tenant, record.id) if cache.content in contents]


def order_many_caches(
    intake: JobIntake, tenant: TenantId, order: BulkCacheOrder, idempotency: IdempotencyKey | None, api_url: str
) -> Accepted:
    """One job over many voices. api_url: for links in webhooks. Raises a `Problem` or a `StorageError`."""
    if idempotency and (replayed := find_response(intake.jobs, tenant, idempotency)):
        return Accepted(replayed, replayed=True)
    webhook = order.webhook and choose_webhook(intake.webhooks, tenant, order.webhook, api_url)
    cards = intake.models.list()
    card = _one_model(order.model, cards)
    mode = None if order.mode is None else CacheMode(order.mode)
    if order.voices is not None:
        voices = [_reference(record, card, mode) for record in _named(intake, tenant, order.voices)]
    else:
        records = list(_filtered(intake, tenant, order.filter or CacheFilter(), card, cards))
        voices = [_reference(record, card, mode) for record in records if _is_fit(record, card, mode)]
    if not voices:
        raise problem("not_found", "no voice of yours is meant by this filter")
    if len(voices) > MAX_BULK_VOICES:
        raise invalid_field(
            "/filter", "too_many", f"{len(voices):,} voices are meant; one job takes {MAX_BULK_VOICES:,}"
        )
    return submit_voices(intake, tenant, voices, card, order, idempotency, webhook)


def submit_voices(
    intake: JobIntake,
    tenant: TenantId,
    voices: Sequence[VoiceReference],
    card: ModelCard,
    order: BulkCacheOrder,
    idempotency: IdempotencyKey | None,
    webhook: WebhookTarget | None = None,
) -> Accepted:
    job = new_job_id()
    submission = Submission(
        id=job,
        tenant=tenant,
        spec=VoiceCacheSpec(card.name, card.revision, len(voices), rebuild=order.force),
        priority=order.priority,
        input_key=voice_list(tenant, job),
        input_chars=0,
        estimated_audio_ms=VOICE_COST_MS * len(voices),
        retention_s=order.retention_s,
        metadata=dict(order.metadata),
        idempotency=idempotency,
        webhook=webhook,
    )
    return submit_with_input(
        intake, submission, lambda: intake.artifacts.put(submission.input_key, encode_voice_plan(voices))
    )


def request_cache(
    intake: JobIntake, tenant: TenantId, voice: VoiceReference, card: ModelCard, *, rebuild: bool = False
) -> JobRecord:
    """A separate job for one voice."""
    order = BulkCacheOrder(voices=[voice.voice], priority=Priority.NORMAL, force=rebuild, retention_s=RETENTION_S)
    job = submit_voices(intake, tenant, [voice], card, order, None).job
    # The job's plan also requests it. This shows it to the caller at once.
    intake.voices.request_caches(tenant, job.id, [cache_request(tenant, voice, card)], rebuild=rebuild)
    return job


def _wanted(
    record: VoiceRecord, order: CacheOrder, cards: Sequence[ModelCard]
) -> Iterator[tuple[VoiceReference, ModelCard]]:
    mode = None if order.mode is None else CacheMode(order.mode)
    models = cloning_models(order.models, cards)
    if order.models is None:
        models = [card for card in models if modes_of(record, card)] or models
    for card in models:
        yield _reference(record, card, mode), card


def _reference(record: VoiceRecord, card: ModelCard, mode: CacheMode | None) -> VoiceReference:
    chosen = choose_mode(record, card, mode, record.ref_text)
    return reference(record, card, chosen, record.ref_text, IfCacheMissing.COMPUTE)


def _is_fit(record: VoiceRecord, card: ModelCard, mode: CacheMode | None) -> bool:
    """A filter means the voices that the model can use; the others are none of its business."""
    possible = [each for each in modes_of(record, card) if each is CacheMode.X_VECTOR or record.ref_text]
    return bool(possible) if mode is None else mode in possible


def _one_model(name: str | None, cards: Sequence[ModelCard]) -> ModelCard:
    if name is not None:
        card = choose_model(name, cards)
        if not card.voice_modes:
            raise no_clones(name, "/model")
        return card
    cloning = cloning_models(None, cards)
    if len(cloning) > 1:
        raise invalid_field("/model", "missing", f"say for which model: {', '.join(card.name for card in cloning)}")
    return cloning[0]


def _filtered(
    intake: JobIntake, tenant: TenantId, wanted: CacheFilter, card: ModelCard, cards: Sequence[ModelCard]
) -> Iterator[VoiceRecord]:
    if wanted.state is None:
        yield from _all_voices(intake, tenant)
        return
    voices: list[VoiceId] = []
    cursor: str | None = None
    while True:
        page = intake.voices.list_caches(
            tenant,
            lambda cache: cache.target.model == card.name and shown_state(cache, cards) == wanted.state,
            cursor,
            PAGE,
        )
        voices += [cache.target.voice for cache in page.entries if cache.target.voice not in voices[-1:]]
        cursor = page.next_after
        if cursor is None:
            break
    # One may have been deleted meanwhile.
    yield from filter(None, intake.voices.get_many(tenant, voices))


def _named(intake: JobIntake, tenant: TenantId, wanted: Sequence[str]) -> Iterator[VoiceRecord]:
    """By ids or names, each voice once. Raises the `Problem` that says which one there is not."""
    ids = [VoiceId(name) for name in wanted if VOICE_ID.fullmatch(name)]
    by_id = dict(zip(ids, intake.voices.get_many(tenant, ids), strict=True))
    seen: set[VoiceId] = set()
    for index, name in enumerate(wanted):
        record = by_id.get(VoiceId(name)) or intake.voices.find(tenant, name)
        if record is None:
            raise invalid_field(f"/voices/{index}", "not_found", f"no voice of yours is called {name[:64]!r}")
        if record.id not in seen:
            seen.add(record.id)
            yield record


def _all_voices(intake: JobIntake, tenant: TenantId) -> Iterator[VoiceRecord]:
    after = None
    while True:
        page = intake.voices.list(tenant, after, PAGE)
        yield from page.entries
        after = page.next_after
        if after is None:
            return
