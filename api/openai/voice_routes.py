"""Voices in the shapes of vLLM-Omni's speech API, over the same store as `/v1/voices`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import Links, Services, Tenant
from api.http.bodies import form_body
from api.http.problems.problem import problem
from api.services.container import ApiServices
from api.voices.caches.submission import BUILD_S, order_caches
from api.voices.caches.view import shown_state
from api.voices.creation import EMBEDDING_FIELD, SAMPLE_FIELD, create_voice
from api.voices.matching import choose_model, modes_of
from api.voices.routes import delete_discarded
from api.voices.upload import UploadForm, read_upload
from api.voices.view import built_in_voices
from rhapsode.contract import openai_voices as audio_schemas
from rhapsode.contract.voices.caches import CacheOrder, ShownState
from rhapsode.contract.voices.names import name_key
from storage.ids import TenantId
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.records import VoiceCacheRecord, VoiceRecord

router = APIRouter(prefix="/v1/audio", tags=["audio"], route_class=IdempotentRoute)

MAX_LISTED = 1_000
"""This shape has no pages; `/v1/voices` has."""

_PROGRESS: tuple[ShownState, ...] = ("failed", "stale", "pending", "processing", "ready")
"""The shown state of several caches: the first of these that one has."""


@router.get("/voices", response_model=audio_schemas.AudioVoices, response_model_exclude_none=True)
def list_audio_voices(
    tenant: Tenant,
    services: Services,
    legacy: Annotated[bool, Query(description="names alone")] = False,  # noqa: FBT002 - of Kokoro-FastAPI's
) -> audio_schemas.AudioVoices:
    """The models' own voices, then those that were uploaded."""
    own = services.voices.list(tenant, None, MAX_LISTED).entries
    built_in = built_in_voices(services.models.list())
    voices = [audio_schemas.NamedChoice(id=voice.name, name=voice.name) for voice in built_in]
    voices += [audio_schemas.NamedChoice(id=record.id, name=record.name) for record in own]
    listed = tuple(voice.name for voice in voices) if legacy else tuple(voices)
    uploaded = tuple(_uploaded(record) for record in own)
    return audio_schemas.AudioVoices(voices=listed, data=listed, uploaded_voices=uploaded)


@router.get("/models", response_model=audio_schemas.AudioModels)
def list_audio_models(_: Tenant, services: Services) -> audio_schemas.AudioModels:
    """As Open WebUI reads models; `/v1/models` says more of each."""
    cards = served_models(services.models.list())
    models = tuple(audio_schemas.NamedChoice(id=card.name, name=card.name) for card in cards)
    return audio_schemas.AudioModels(models=models, data=models)


@router.post(
    "/voices",
    response_model=audio_schemas.AudioVoiceCreated,
    response_model_exclude_none=True,
    openapi_extra=form_body(audio_schemas.AudioVoiceForm),
)
async def post_audio_voice(request: Request, tenant: Tenant, services: Services) -> audio_schemas.AudioVoiceCreated:
    """As `POST /v1/voices`; `speaker_description` is its `description`."""
    async with read_upload(request, frozenset({SAMPLE_FIELD, EMBEDDING_FIELD})) as upload:
        created, _ = await create_voice(services, tenant, _renamed(upload))
    return audio_schemas.AudioVoiceCreated(voice=_uploaded(created))


@router.get("/voices/{name}", response_model=audio_schemas.AudioVoice, response_model_exclude_none=True)
def get_audio_voice(tenant: Tenant, services: Services, name: str) -> audio_schemas.AudioVoice:
    """One that a model has, one of yours, or a name that stands for one."""
    cards = services.models.list()
    for voice in built_in_voices(cards):
        if name_key(voice.name) == name_key(name):
            return audio_schemas.AudioVoice(name=voice.name, models=tuple(voice.models))
    if (record := services.voices.find(tenant, name)) is not None:
        return audio_schemas.AudioVoice(
            name=record.name,
            models=tuple(card.name for card in served_models(cards) if modes_of(record, card)),
            uploaded=_uploaded(record),
            cache=_progress(services.voices.caches(tenant, record.id), cards),
        )
    return _stand_in(services, name, cards)


def _stand_in(services: ApiServices, name: str, cards: Sequence[ModelCard]) -> audio_schemas.AudioVoice:
    """Raises the `Problem` that nothing has this name, and that it stands for nothing."""
    speakers = choose_model(None, cards).speakers if cards else ()
    meant = services.settings.aliases.voice(name, speakers)
    voices = {name_key(voice.name): voice for voice in built_in_voices(cards)}
    if meant is None or (found := voices.get(name_key(meant))) is None:
        raise problem("voice_not_found", f"Voice {name[:64]!r} not found")
    return audio_schemas.AudioVoice(name=name, models=tuple(found.models), alias_of=found.name)


@router.delete("/voices/{name}", response_model=audio_schemas.AudioVoiceDeleted)
def delete_audio_voice(tenant: Tenant, services: Services, name: str) -> audio_schemas.AudioVoiceDeleted:
    record = _by_name(services, tenant, name)
    services.voices.delete(tenant, record.id)
    delete_discarded(services)
    return audio_schemas.AudioVoiceDeleted(message=f"Voice '{record.name}' deleted successfully")


@router.post("/voices/{name}/cache", status_code=202, response_model=audio_schemas.AudioVoiceCached)
def cache_audio_voice(
    tenant: Tenant,
    services: Services,
    links: Links,
    name: str,
    response: Response,
    force: Annotated[bool, Query()] = False,  # noqa: FBT002 - a query parameter of the other system's
) -> audio_schemas.AudioVoiceCached:
    """Make the voice ready for every model that clones; 200 if it is already."""
    record = _by_name(services, tenant, name)
    caches = order_caches(services.intake, tenant, record, CacheOrder(force=force))
    cards = services.models.list()
    # One that was forgotten meanwhile is none yet.
    status = _progress(caches, cards) or "pending"
    if status == "ready":
        response.status_code = 200
    else:
        response.headers["Retry-After"] = str(BUILD_S)
        response.headers["Location"] = links.voice_cache(record.id)
    return audio_schemas.AudioVoiceCached(voice=record.name, status=status)


def _progress(caches: Sequence[VoiceCacheRecord], cards: Sequence[ModelCard]) -> ShownState | None:
    """Of all together; None of none."""
    states = {shown_state(cache, cards) for cache in caches}
    return next((state for state in _PROGRESS if state in states), None)


def _by_name(services: ApiServices, tenant: TenantId, name: str) -> VoiceRecord:
    record = services.voices.find(tenant, name)
    if record is None:
        raise problem("voice_not_found", f"Voice {name[:64]!r} not found")
    return record


def _renamed(upload: UploadForm) -> UploadForm:
    fields = {"description" if name == "speaker_description" else name: text for name, text in upload.fields.items()}
    return UploadForm(fields, upload.files)


def _uploaded(record: VoiceRecord) -> audio_schemas.UploadedVoice:
    return audio_schemas.UploadedVoice(
        name=record.name,
        consent=record.consent.statement if record.consent else "",
        created_at=record.created_at_ms // 1000,
        file_size=record.source.bytes,
        mime_type=record.source.media_type,
        ref_text=record.ref_text or None,
        speaker_description=record.description or None,
    )
