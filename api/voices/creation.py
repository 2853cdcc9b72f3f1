"""The steps of creating a voice: check its name and the consent, store its recording, create the voice.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyio.to_thread import run_sync
from ulid import ULID

from api.http.parsing import parse_fields
from api.http.problems.problem import (
    FieldViolation,
    HttpProblem,
    decoder_unavailable,
    invalid,
    invalid_field,
    model_not_found,
    name_taken,
    no_model,
    problem,
)
from api.services.container import ApiServices
from api.voices.caches.submission import order_caches
from api.voices.consent import consent_of, stated
from api.voices.embedding_input import EMBEDDING_FIELD, parse_embedding
from api.voices.matching import built_in_speaker, cloning_models, require_cloning
from api.voices.upload import UploadForm
from rhapsode.contract.voices.caches import CacheOrder
from rhapsode.contract.voices.modes import CacheMode
from rhapsode.contract.voices.voices import RecordingForm, VoiceForm
from storage.audio.recordings import DecoderBroken, RecordingRefused, inspect_recording
from storage.errors import (
    AdmissionRefused,
    QuotaExceeded,
    StoreUnavailable,
    VoiceChanged,
    VoiceGone,
    VoiceNameTaken,
    VoiceNotFound,
)
from storage.ids import TenantId, VoiceId, new_voice_id
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.objects.keys import voice_source
from storage.queue.model_registry import ModelCard
from storage.voices.recordings import put_recording
from storage.voices.records import NewRecording, VoiceCreation, VoiceRecord

SAMPLE_FIELD = "audio_sample"

EMBEDDING_MEDIA_TYPE = "application/octet-stream"

_REFUSALS = (VoiceNameTaken, QuotaExceeded, VoiceChanged, VoiceGone, VoiceNotFound)


async def create_voice(services: ApiServices, tenant: TenantId, upload: UploadForm) -> tuple[VoiceRecord, bool]:
    """A voice from a recording or an embedding, and whether jobs that make it ready are on their way.

    Raises a `HttpProblem` or a `StorageError`.
    """
    fields = dict(upload.fields)
    embedding_text = fields.pop(EMBEDDING_FIELD, None)
    form = parse_fields(VoiceForm, fields)
    _require_one_source(upload, embedding_text)
    consent = consent_of(stated(services.settings, form.consent), tenant)
    await run_sync(_require_free_name, services, tenant, form.name)
    is_prepared = form.precompute == "true"
    if is_prepared:
        # Before there is a voice: nothing could prepare it.
        await run_sync(lambda: cloning_models(None, services.models.list()))
    voice = new_voice_id()
    if SAMPLE_FIELD in upload.files:
        if form.model is not None:
            raise invalid_field("/model", "not_supported", "a recording fits every model that clones")
        await run_sync(lambda: require_cloning(services.models.list(), f"/{SAMPLE_FIELD}"))
        source = await store_recording(services, _source_key(tenant, voice), upload, form.ref_text)
    else:
        source = await run_sync(_store_embedding, services, tenant, voice, upload, embedding_text, form)
    wanted = VoiceCreation(
        id=voice,
        tenant=tenant,
        name=form.name,
        source=source,
        ref_text=form.ref_text.strip(),
        language=form.language,
        description=form.description,
        consent=consent,
    )
    record = await run_sync(or_discard, services, source, lambda: services.voices.create(wanted))
    if is_prepared:
        await run_sync(_prepare, services, record)
    return record, is_prepared


async def replace_recording(services: ApiServices, tenant: TenantId, voice: VoiceId, upload: UploadForm) -> VoiceRecord:
    """Another recording for a voice. Raises a `HttpProblem` or a `StorageError`."""
    form = parse_fields(RecordingForm, upload.fields)
    if SAMPLE_FIELD not in upload.files:
        raise _missing_source()
    consent = consent_of(stated(services.settings, form.consent), tenant)
    revision = (await run_sync(services.voices.get, tenant, voice)).revision
    source = await store_recording(services, _source_key(tenant, voice), upload, form.ref_text)
    wanted = NewRecording(revision, source, form.ref_text.strip(), consent)
    return await run_sync(or_discard, services, source, lambda: services.voices.replace(tenant, voice, wanted))


async def store_recording(services: ApiServices, key: str, upload: UploadForm, ref_text: str) -> VoiceSource:
    """Decode the recording in a separate process, then store the original. Raises an `HttpProblem`."""
    file = upload.files[SAMPLE_FIELD]
    try:
        facts = await run_sync(inspect_recording, file, limiter=services.intake.recordings.decoders)
        facts.refuse_text(ref_text)
    except RecordingRefused as error:
        raise recording_refused(error, SAMPLE_FIELD) from error
    except DecoderBroken as error:
        raise decoder_unavailable() from error
    return await run_sync(put_recording, services.artifacts, key, file, facts)


def embedding_model(cards: Sequence[ModelCard], name: str | None) -> ModelCard:
    """The model an embedding is of: the one named, or the only one that clones. Raises a `HttpProblem`."""
    if not cards:
        raise no_model()
    cloning = [card for card in cards if CacheMode.X_VECTOR in card.voice_modes]
    if name is None:
        if len(cloning) != 1:
            known = ", ".join(card.name for card in cloning) or "none"
            raise invalid_field("/model", "missing", f"say which model the embedding is of; those that clone: {known}")
        return cloning[0]
    card = next((card for card in cards if card.name == name), None)
    if card is None:
        raise model_not_found(name, [card.name for card in cloning])
    if card not in cloning:
        detail = f"{name} does not clone voices: its checkpoint has no speaker encoder, and speaks with no embedding"
        raise invalid_field("/model", "not_supported", detail)
    return card


def _prepare(services: ApiServices, record: VoiceRecord) -> None:
    try:
        order_caches(services.intake, record.tenant, record, CacheOrder())
    except (AdmissionRefused, StoreUnavailable, HttpProblem):
        # All or nothing: the caller sends the form again.
        services.voices.delete(record.tenant, record.id)
        raise


def _require_one_source(upload: UploadForm, embedding_text: str | None) -> None:
    num_sources = len(upload.files) + (embedding_text is not None)
    if num_sources == 0:
        raise _missing_source()
    if num_sources > 1:
        raise invalid_field(f"/{EMBEDDING_FIELD}", "not_allowed", "a voice is made from one source")


def _missing_source() -> HttpProblem:
    detail = f"a voice needs a file `{SAMPLE_FIELD}` or a `{EMBEDDING_FIELD}`"
    return invalid([FieldViolation("missing", detail, pointer=f"/{SAMPLE_FIELD}")])


def _require_free_name(services: ApiServices, tenant: TenantId, name: str) -> None:
    """Saves decoding a recording that the store would reject."""
    if speaker := built_in_speaker(name, services.models.list()):
        raise name_taken(f"{speaker!r} is a built-in voice")
    if found := services.voices.find(tenant, name):
        raise name_taken(f"the voice {found.id} is already called {found.name!r}")


def _store_embedding(
    services: ApiServices, tenant: TenantId, voice: VoiceId, upload: UploadForm, text: str | None, form: VoiceForm
) -> VoiceSource:
    if form.ref_text:
        raise invalid_field("/ref_text", "not_supported", "an embedding says nothing that could be written down")
    card = embedding_model(services.models.list(), form.model)
    given = upload.files[EMBEDDING_FIELD].read() if text is None else text.encode()
    return put_embedding(services, tenant, voice, parse_embedding(given, card), card)


def put_embedding(services: ApiServices, tenant: TenantId, voice: VoiceId, data: bytes, card: ModelCard) -> VoiceSource:
    """data: float32 (speaker_dim,), little-endian."""
    stored = services.artifacts.put(_source_key(tenant, voice), data)
    return VoiceSource(
        SourceKind.EMBEDDING, stored.key, stored.sha256, stored.bytes, EMBEDDING_MEDIA_TYPE, model=card.name
    )


def or_discard(services: ApiServices, source: VoiceSource, call: Callable[[], VoiceRecord]) -> VoiceRecord:
    """What the call gives; a source that it refuses is deleted."""
    try:
        return call()
    except _REFUSALS:
        # Only after an answer: without one, the voice may exist and need its source.
        services.artifacts.delete(source.key)
        raise


def _source_key(tenant: TenantId, voice: VoiceId) -> str:
    """One that nothing lies under yet."""
    return voice_source(tenant, voice, str(ULID()).lower())


def recording_refused(error: RecordingRefused, field: str) -> HttpProblem:
    title = "The recording cannot be used"
    return problem("unsupported_media", error.detail, at=f"/{field}", flaw=error.code, status=422, title=title)
