"""Caches of voices: order, read, drop, for one voice or for thousands."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownVoiceId, Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.cursors import PageQuery, StrictQuery, decode_cursor, encode_cursor
from api.http.idempotency_key import idempotency_key
from api.http.parsing import parse_body
from api.jobs.answers.answers import accepted_answer
from api.voices.caches.submission import BUILD_S, order_caches, order_many_caches
from api.voices.caches.view import shown_cache, shown_state
from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.voices.caches import BulkCacheOrder, CacheOrder, Mode, ShownState, VoiceCacheList
from storage.ids import VOICE_ID
from storage.voices.records import VoiceCacheRecord

router = APIRouter(tags=["voice caches"], route_class=IdempotentRoute)

_CACHE_NAME = re.compile(VOICE_ID.pattern + r"\|(x_vector|in_context)\|.{1,400}", re.DOTALL)


class CacheListQuery(PageQuery):
    cursor: str | None = Field(default=None, max_length=1_000)
    state: list[ShownState] = Field(default=[])
    model: str | None = Field(default=None, min_length=1, max_length=200)


class CacheDropQuery(StrictQuery):
    model: str | None = Field(default=None, min_length=1, max_length=200)
    mode: Mode | None = None


@router.post(
    "/v1/voices/{voice_id}/cache",
    status_code=202,
    response_model=VoiceCacheList,
    openapi_extra=json_body(CacheOrder, required=False),
)
def order_voice_cache(
    tenant: Tenant,
    services: Services,
    links: Links,
    voice_id: KnownVoiceId,
    body: OptionalJsonBytes,
    response: Response,
) -> VoiceCacheList:
    """Make the voice ready; 200 if it is already. What is there is served until a forced rebuild has succeeded."""
    record = services.voices.get(tenant, voice_id)
    order = parse_body(CacheOrder, body) if body else CacheOrder()
    cards = services.models.list()
    shown = [shown_cache(cache, cards) for cache in order_caches(services.intake, tenant, record, order)]
    if all(cache.state == "ready" for cache in shown):
        response.status_code = 200
    else:
        response.headers["Retry-After"] = str(BUILD_S)
        response.headers["Location"] = links.voice_cache(voice_id)
    return VoiceCacheList(data=tuple(shown))


@router.get("/v1/voices/{voice_id}/cache", response_model=VoiceCacheList)
def get_voice_cache(tenant: Tenant, services: Services, voice_id: KnownVoiceId) -> VoiceCacheList:
    """One entry for each requested model and mode."""
    cards = services.models.list()
    return VoiceCacheList(data=tuple(shown_cache(cache, cards) for cache in services.voices.caches(tenant, voice_id)))


@router.delete("/v1/voices/{voice_id}/cache", status_code=204)
def delete_voice_cache(
    tenant: Tenant, services: Services, voice_id: KnownVoiceId, parameters: Annotated[CacheDropQuery, Query()]
) -> None:
    """Drop the voice's caches, or those of one model or mode. A build under way is not taken any more."""
    targets = [cache.target for cache in services.voices.caches(tenant, voice_id)]
    dropped = [
        (target.mode, target.model)
        for target in targets
        if parameters.model in (None, target.model) and parameters.mode in (None, target.mode.value)
    ]
    if dropped:
        services.voices.forget_caches(tenant, voice_id, dropped)


@router.post("/v1/voice-caches", status_code=202, response_model=schemas.Job, openapi_extra=json_body(BulkCacheOrder))
def order_voice_caches(
    tenant: Tenant,
    services: Services,
    links: Links,
    body: JsonBytes,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    """Make many voices ready for one model: a job whose segments are voices. A failing one does not stop the others."""
    idempotency = idempotency_key(idempotency_header, body, "/v1/voice-caches")
    accepted = order_many_caches(services.intake, tenant, parse_body(BulkCacheOrder, body), idempotency, links.base)
    return accepted_answer(services, links, accepted)


@router.get("/v1/voice-caches", response_model=VoiceCacheList)
def list_voice_caches(
    tenant: Tenant, services: Services, parameters: Annotated[CacheListQuery, Query()]
) -> VoiceCacheList:
    """The tenant's caches by voice; `state` may be repeated."""
    cards = services.models.list()

    def is_wanted(cache: VoiceCacheRecord) -> bool:
        has_state = not parameters.state or shown_state(cache, cards) in parameters.state
        return has_state and parameters.model in (None, cache.target.model)

    after = decode_cursor(parameters.cursor, _CACHE_NAME)
    page = services.voices.list_caches(tenant, is_wanted, after, parameters.limit)
    cursor = encode_cursor(page.next_after) if page.next_after else None
    return VoiceCacheList(
        data=tuple(shown_cache(cache, cards) for cache in page.entries), next_cursor=cursor, has_more=cursor is not None
    )
