"""Voices: upload, read, list, change, replace, delete, listen."""

from __future__ import annotations

import logging
from typing import Annotated, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownVoiceId, Links, Services, Tenant
from api.http.bodies import form_body, json_body
from api.http.cursors import PageQuery, decode_cursor, encode_cursor
from api.http.links import URL_TTL_S
from api.http.parsing import parse_body
from api.http.problems.problem import name_taken
from api.services.container import ApiServices
from api.voices.blend import blend_voices
from api.voices.caches.submission import BUILD_S
from api.voices.creation import EMBEDDING_FIELD, SAMPLE_FIELD, create_voice, replace_recording
from api.voices.embedding import embedding_answer, embedding_of
from api.voices.matching import built_in_speaker
from api.voices.named_voices import find_named_voice
from api.voices.upload import read_upload
from api.voices.view import built_in_voices, own_voice
from rhapsode.contract.voices import voices as voice_schemas
from rhapsode.contract.voices.voices import BlendOrder, VoiceChange
from storage.errors import StoreUnavailable
from storage.ids import VOICE_ID, VoiceId
from storage.objects.store import Download
from storage.voices.records import VoiceRecord, VoiceUpdate

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/voices", tags=["voices"], route_class=IdempotentRoute)

EXTENSIONS = {"audio/wav": "wav", "audio/flac": "flac", "audio/mpeg": "mp3", "audio/ogg": "ogg"} | {
    "audio/mp4": "m4a",
    "audio/webm": "webm",
    "audio/aac": "aac",
}


class VoiceListQuery(PageQuery):
    """`name`: this name, in any case."""

    kind: Literal["own", "built_in"] | None = None
    name: str | None = Field(default=None, min_length=1, max_length=200)


@router.post("", status_code=201, response_model=voice_schemas.Voice, openapi_extra=form_body(voice_schemas.VoiceForm))
async def post_voice(request: Request, tenant: Tenant, services: Services, links: Links) -> Response:
    """A new voice, from a recording (at least 1 s, of which the best 60 s are used, at most 10 MiB) or an embedding.

    202 instead of 201 if it is being prepared, too; see `/v1/voices/{id}/cache`.
    """
    async with read_upload(request, frozenset({SAMPLE_FIELD, EMBEDDING_FIELD})) as upload:
        created, is_prepared = await create_voice(services, tenant, upload)
    voice = own_voice(created, links, await run_sync(services.models.list))
    headers = {"Location": links.voice(created.id)}
    if is_prepared:
        return _answer(voice, 202, headers | {"Retry-After": str(BUILD_S)})
    return _answer(voice, 201, headers)


@router.get("", response_model=voice_schemas.VoiceList)
def list_voices(
    tenant: Tenant, services: Services, links: Links, parameters: Annotated[VoiceListQuery, Query()]
) -> voice_schemas.VoiceList:
    """The models' own voices first, then those that were uploaded, newest first."""
    cards = services.models.list()
    cursor = decode_cursor(parameters.cursor, VOICE_ID)
    built_in = built_in_voices(cards) if cursor is None and parameters.kind != "own" else []
    if parameters.name is not None:
        speaker = built_in_speaker(parameters.name, cards)
        named = services.voices.find(tenant, parameters.name) if parameters.kind != "built_in" else None
        data = [voice for voice in built_in if voice.name == speaker]
        data += [own_voice(named, links, cards)] if named else []
        return voice_schemas.VoiceList(data=tuple(data), next_cursor=None, has_more=False)
    if parameters.kind == "built_in":
        return voice_schemas.VoiceList(data=tuple(built_in), next_cursor=None, has_more=False)
    page = services.voices.list(tenant, VoiceId(cursor) if cursor else None, parameters.limit)
    next_cursor = encode_cursor(page.next_after) if page.next_after else None
    data = built_in + [own_voice(record, links, cards) for record in page.entries]
    return voice_schemas.VoiceList(data=tuple(data), next_cursor=next_cursor, has_more=next_cursor is not None)


@router.get("/{voice_id}", response_model=voice_schemas.Voice)
def get_voice(tenant: Tenant, services: Services, links: Links, voice_id: str) -> voice_schemas.Voice:
    """One of yours by its id, or a built-in voice by its name."""
    voice = find_named_voice(services, tenant, voice_id)
    return _shown(services, links, voice) if isinstance(voice, VoiceRecord) else voice


@router.patch("/{voice_id}", response_model=voice_schemas.Voice, openapi_extra=json_body(VoiceChange))
def patch_voice(
    tenant: Tenant, services: Services, links: Links, voice_id: KnownVoiceId, body: JsonBytes
) -> voice_schemas.Voice:
    """Another name, description or metadata. What is cached stays: it depends on none of them."""
    change = parse_body(VoiceChange, body)
    if change.name is not None and (speaker := built_in_speaker(change.name, services.models.list())):
        raise name_taken(f"{speaker!r} is a built-in voice")
    record = services.voices.update(tenant, voice_id, VoiceUpdate(change.name, change.description, change.metadata))
    return _shown(services, links, record)


@router.delete("/{voice_id}", status_code=204)
def delete_voice(tenant: Tenant, services: Services, voice_id: KnownVoiceId) -> None:
    """Forget the voice with its recording and its caches. Repeating it is no error."""
    services.voices.delete(tenant, voice_id)
    delete_discarded(services)


@router.post("/blend", status_code=201, response_model=voice_schemas.Voice, openapi_extra=json_body(BlendOrder))
def blend(tenant: Tenant, services: Services, links: Links, body: JsonBytes) -> Response:
    """A new voice between two to eight others, from their speaker embeddings; those of recordings must be ready."""
    record = blend_voices(services, tenant, parse_body(BlendOrder, body))
    return _answer(_shown(services, links, record), 201, {"Location": links.voice(record.id)})


@router.put(
    "/{voice_id}/sample", response_model=voice_schemas.Voice, openapi_extra=form_body(voice_schemas.RecordingForm)
)
async def put_sample(
    request: Request, tenant: Tenant, services: Services, links: Links, voice_id: KnownVoiceId
) -> voice_schemas.Voice:
    """Another recording under the same id; caches of the old one are dropped."""
    async with read_upload(request, frozenset({SAMPLE_FIELD})) as upload:
        record = await replace_recording(services, tenant, voice_id, upload)
    return await run_sync(_shown, services, links, record)


@router.get("/{voice_id}/sample", status_code=302, response_class=Response)
def get_sample(tenant: Tenant, services: Services, links: Links, voice_id: KnownVoiceId) -> Response:
    """Leads to what was uploaded, by a link that needs no credentials for fifteen minutes."""
    source = services.voices.get(tenant, voice_id).source
    download = Download(f"{voice_id}.{EXTENSIONS.get(source.media_type, 'f32')}", source.media_type)
    location = links.absolute(services.artifacts.url(source.key, URL_TTL_S, download))
    return Response(status_code=302, headers={"Location": location, "Cache-Control": "no-store"})


@router.get(
    "/{voice_id}/embedding",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}, "application/json": {}}}},
)
def get_embedding(
    tenant: Tenant,
    services: Services,
    voice_id: KnownVoiceId,
    model: str | None = None,
    accept: Annotated[str, Header()] = "*/*",
) -> Response:
    """The speaker's embedding: as safetensors, or as JSON where the Accept header asks for it."""
    record = services.voices.get(tenant, voice_id)
    return embedding_answer(record, embedding_of(services, record, model), as_json="application/json" in accept)


def delete_discarded(services: ApiServices) -> None:
    """The objects that nothing points at any more; what fails here is done by the janitor."""
    due = services.voices.discarded()
    try:
        for key in due.values():
            services.artifacts.delete(key)
    except StoreUnavailable as error:
        # The voice is deleted: no caller can reach these objects.
        logger.warning("discarded voice objects left in the store", extra={"error": str(error)})
        return
    services.voices.forget_discarded(list(due))


def _shown(services: ApiServices, links: Links, record: VoiceRecord) -> voice_schemas.Voice:
    return own_voice(record, links, services.models.list())


def _answer(voice: voice_schemas.Voice, status: int, headers: dict[str, str]) -> Response:
    return Response(voice.model_dump_json(by_alias=True), status, headers, "application/json")
