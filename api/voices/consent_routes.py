"""Consents of speakers: lay down, read, list, hear, delete."""

from __future__ import annotations

import hashlib
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import KnownConsentId, Links, Services, Tenant, read_json_bytes
from api.http.bodies import body
from api.http.cursors import decode_cursor, encode_cursor
from api.http.links import URL_TTL_S, LinkBuilder
from api.http.parsing import parse_body
from api.http.problems.problem import invalid_field, not_found, unsupported_media
from api.http.times import moment
from api.services.container import ApiServices
from api.voices.consent import actor_of, is_consent
from api.voices.creation import store_recording
from api.voices.routes import EXTENSIONS, delete_discarded
from api.voices.upload import Upload, parse_fields, read_upload
from rhapsode.contract.voices import consents as consent_schemas
from storage.errors import QuotaExceeded
from storage.ids import CONSENT_ID, ConsentId, TenantId, new_consent_id
from storage.narration.voice_reference import VoiceSource
from storage.objects.keys import consent_recording
from storage.objects.store import Download
from storage.voices.consents import ConsentRecord, ConsentRecording, NewConsent

router = APIRouter(prefix="/v1/consents", tags=["consents"], route_class=IdempotentRoute)

RECORDING_FIELD = "recording"

_EITHER = body({"application/json": consent_schemas.ConsentOrder, "multipart/form-data": consent_schemas.ConsentForm})


class ConsentListQuery(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: int = Field(default=20, ge=1, le=100)
    cursor: str | None = Field(default=None, max_length=200)


@router.post("", status_code=201, response_model=consent_schemas.Consent, openapi_extra=_EITHER)
async def post_consent(
    request: Request, tenant: Tenant, services: Services, links: Links, response: Response
) -> consent_schemas.Consent:
    """Lay down that a speaker agrees: a statement as JSON, or a form with a recording of it. Voices may rest on it."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "multipart/form-data":
        async with read_upload(request, frozenset({RECORDING_FIELD})) as upload:
            record = await _from_form(services, tenant, upload)
    elif media_type == "application/json":
        order = await run_sync(parse_body, consent_schemas.ConsentOrder, await read_json_bytes(request))
        record = await run_sync(_lay_down, services, tenant, new_consent_id(), order, None)
    else:
        raise unsupported_media("the body must be application/json or multipart/form-data")
    response.headers["Location"] = links.consent(record.id)
    return _shown(record, links)


@router.get("", response_model=consent_schemas.ConsentList)
def list_consents(
    tenant: Tenant, services: Services, links: Links, parameters: Annotated[ConsentListQuery, Query()]
) -> consent_schemas.ConsentList:
    """Newest first."""
    cursor = decode_cursor(parameters.cursor, CONSENT_ID)
    page = services.consents.list(tenant, ConsentId(cursor) if cursor else None, parameters.limit)
    next_cursor = encode_cursor(page.consents[-1].id) if page.has_more and page.consents else None
    return consent_schemas.ConsentList(
        data=tuple(_shown(record, links) for record in page.consents),
        next_cursor=next_cursor,
        has_more=next_cursor is not None,
    )


@router.get("/{consent_id}", response_model=consent_schemas.Consent)
def get_consent(
    tenant: Tenant, services: Services, links: Links, consent_id: KnownConsentId
) -> consent_schemas.Consent:
    return _shown(services.consents.get(tenant, consent_id), links)


@router.get("/{consent_id}/recording", status_code=302, response_class=Response)
def get_consent_recording(tenant: Tenant, services: Services, links: Links, consent_id: KnownConsentId) -> Response:
    """Leads to what was uploaded, by a link that needs no credentials for fifteen minutes."""
    recording = services.consents.get(tenant, consent_id).recording
    if recording is None:
        raise not_found(f"{consent_id} is a statement; nobody recorded it")
    download = Download(f"{consent_id}.{EXTENSIONS[recording.media_type]}", recording.media_type)
    location = links.absolute(services.artifacts.url(recording.key, URL_TTL_S, download))
    return Response(status_code=302, headers={"Location": location, "Cache-Control": "no-store"})


@router.delete("/{consent_id}", status_code=204)
def delete_consent(tenant: Tenant, services: Services, consent_id: KnownConsentId) -> None:
    """Forget it with its recording. 409 while voices rest on it: they are to be deleted first."""
    services.consents.delete(services.consents.get(tenant, consent_id))
    delete_discarded(services)


async def _from_form(services: ApiServices, tenant: TenantId, upload: Upload) -> ConsentRecord:
    form = parse_fields(consent_schemas.ConsentForm, upload.fields)
    file = upload.files.get(RECORDING_FIELD)
    consent = new_consent_id()
    if file is None:
        return await run_sync(_lay_down, services, tenant, consent, form, None)
    source = await store_recording(services, consent_recording(tenant, consent), file, RECORDING_FIELD)
    return await run_sync(_lay_down, services, tenant, consent, form, source)


def _lay_down(
    services: ApiServices,
    tenant: TenantId,
    consent: ConsentId,
    said: consent_schemas.ConsentOrder | consent_schemas.ConsentForm,
    source: VoiceSource | None,
) -> ConsentRecord:
    """source: the recording, which lies in the store."""
    statement = said.statement.strip()
    if source is None and not is_consent(statement):
        raise invalid_field("/statement", "missing", "a consent is a statement, a `recording` of one, or both")
    wanted = NewConsent(
        id=consent,
        tenant=tenant,
        speaker=said.speaker,
        statement=statement,
        statement_sha256=hashlib.sha256(statement.encode()).hexdigest() if statement else "",
        recording=_recording(source),
        actor=actor_of(tenant),
    )
    try:
        return services.consents.create(wanted)
    except QuotaExceeded:
        if source is not None:
            services.artifacts.delete(source.key)
        raise


def _recording(source: VoiceSource | None) -> ConsentRecording | None:
    if source is None:
        return None
    return ConsentRecording(source.key, source.sha256, source.bytes, source.media_type, source.duration_s or 0.0)


def _shown(record: ConsentRecord, links: LinkBuilder) -> consent_schemas.Consent:
    recording = record.recording
    return consent_schemas.Consent(
        id=record.id,
        speaker=record.speaker,
        statement=record.statement,
        statement_sha256=record.statement_sha256 or None,
        recording=recording
        and consent_schemas.ConsentRecording(
            media_type=recording.media_type,
            duration_s=recording.duration_s,
            bytes=recording.bytes,
            sha256=recording.sha256,
            url=links.consent_recording(record.id),
        ),
        actor=record.actor,
        created_at=moment(record.created_at_ms),
        voices=record.num_voices,
        links=consent_schemas.ConsentLinks(self_=links.consent(record.id)),
    )
