"""API keys, for operators: make, list, revoke."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, Services, Tenant, id_like
from api.http.bodies import json_body
from api.http.cursors import StrictQuery
from api.http.parsing import parse_body
from api.http.problems.problem import invalid_field
from api.http.times import moment, optional_moment
from rhapsode.contract.operators.keys import ApiKeyList, ApiKeyView, KeyOrder, NewApiKey, ScopeName, TenantName
from storage.ids import KEY_ID, KeyId, TenantId
from storage.tenants.api_keys import ApiKey, Scope

router = APIRouter(prefix="/v1/admin/api-keys", tags=["administration"], route_class=IdempotentRoute)

LATEST = datetime(9999, 1, 1, tzinfo=UTC)


class KeyListQuery(StrictQuery):
    tenant: TenantName | None = None


KnownKeyId = Annotated[KeyId, id_like(KEY_ID, "key")]


@router.post("", status_code=201, response_model=NewApiKey, openapi_extra=json_body(KeyOrder))
def post_key(tenant: Tenant, services: Services, body: JsonBytes) -> NewApiKey:
    """A new key for a tenant, who need not exist before. Its secret is in this answer and nowhere else."""
    order = parse_body(KeyOrder, body)
    scopes = frozenset(Scope(scope) for scope in order.scopes)
    made = services.access.api_keys.create(TenantId(order.tenant), order.name, scopes, _future_ms(order.expires_at))
    return NewApiKey(**_view(made.record).model_dump(), secret=made.secret)


@router.get("", response_model=ApiKeyList)
def list_keys(tenant: Tenant, services: Services, parameters: Annotated[KeyListQuery, Query()]) -> ApiKeyList:
    """Every key, the oldest first; those that are over too."""
    wanted = None if parameters.tenant is None else TenantId(parameters.tenant)
    return ApiKeyList(data=tuple(_view(record) for record in services.access.api_keys.list(wanted)))


@router.delete("/{key_id}", status_code=204)
def revoke_key(tenant: Tenant, services: Services, key_id: KnownKeyId) -> None:
    """From this answer on the key opens nothing."""
    services.access.api_keys.revoke(key_id)


def _view(record: ApiKey) -> ApiKeyView:
    scopes: list[ScopeName] = [scope.value for scope in Scope if scope in record.scopes]
    return ApiKeyView(
        id=record.id,
        tenant=record.tenant,
        name=record.name,
        prefix=record.shown,
        scopes=tuple(scopes),
        created_at=moment(record.created_at_ms),
        expires_at=optional_moment(record.expires_at_ms),
        last_used_at=optional_moment(record.last_used_at_ms),
    )


def _future_ms(expires: datetime | None) -> int | None:
    if expires is None:
        return None
    if expires.timestamp() <= time.time():
        raise invalid_field("/expires_at", "in_the_past", "this time has passed")
    if expires > LATEST:
        raise invalid_field("/expires_at", "out_of_range", f"must not be later than {LATEST.isoformat()}")
    return int(expires.timestamp() * 1000)
