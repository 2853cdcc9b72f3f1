"""Every request of operators, and of a tenant about its own use, as a value. No I/O: both clients send these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Unpack
from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, nothing, resource, shown_once
from rhapsode.client.plain_json import json_object, plain_json
from rhapsode.client.request_options import QuotaLimits
from rhapsode.contract.operators.fleet import (
    AuditView,
    DeadLetterList,
    FleetHistory,
    FleetMinute,
    QueueList,
    WorkerList,
    WorkerView,
)
from rhapsode.contract.operators.keys import ApiKeyList, ApiKeyView
from rhapsode.contract.operators.quotas import QuotaView
from rhapsode.contract.operators.reconcile import ReconcileView
from rhapsode.contract.operators.usage import Grouping, UsageReport


def list_workers() -> ApiCall[tuple[WorkerView, ...]]:
    read = resource(WorkerList)
    return ApiCall("GET", "/v1/admin/workers", lambda response: read(response).data)


def drain_worker(name: str) -> ApiCall[WorkerView]:
    return ApiCall("POST", f"{_worker(name)}/drain", resource(WorkerView))


def undrain_worker(name: str) -> ApiCall[WorkerView]:
    return ApiCall("POST", f"{_worker(name)}/undrain", resource(WorkerView))


def list_queues() -> ApiCall[QueueList]:
    return ApiCall("GET", "/v1/admin/queues", resource(QueueList))


def get_fleet_history(minutes: int) -> ApiCall[tuple[FleetMinute, ...]]:
    read = resource(FleetHistory)
    params = (("minutes", str(minutes)),)
    return ApiCall("GET", "/v1/admin/fleet-history", lambda response: read(response).data, params=params)


def list_dead_letters(cursor: str | None) -> ApiCall[DeadLetterList]:
    params = (("limit", "200"), *((("cursor", cursor),) if cursor else ()))
    return ApiCall("GET", "/v1/admin/dlq", resource(DeadLetterList), params=params)


def forget_dead_letter(entry: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/admin/dlq/{quote(entry, safe='')}", nothing)


def audit() -> ApiCall[AuditView]:
    return ApiCall("POST", "/v1/admin/audit", resource(AuditView))


def reconcile(cursor: str | None) -> ApiCall[ReconcileView]:
    body: dict[str, JsonValue] = {"cursor": cursor} if cursor else {}
    return ApiCall("POST", "/v1/admin/reconcile", resource(ReconcileView), body=body)


def _worker(name: str) -> str:
    return f"/v1/admin/workers/{quote(name, safe='')}"


DEFAULT_SCOPES = ("synth", "voices", "webhooks")


class CreatedApiKey(ApiKeyView):
    """Once it is known that the answer shows its secret."""

    secret: str


def create_key(tenant: str, name: str, scopes: Sequence[str], expires_at: datetime | None) -> ApiCall[CreatedApiKey]:
    body = json_object({"tenant": tenant, "name": name, "scopes": scopes, "expires_at": expires_at})
    read = shown_once(CreatedApiKey, "revoke the key {id} and make another")
    return ApiCall("POST", "/v1/admin/api-keys", read, body=body)


def list_keys(tenant: str | None) -> ApiCall[tuple[ApiKeyView, ...]]:
    read = resource(ApiKeyList)
    params = (("tenant", tenant),) if tenant else ()
    return ApiCall("GET", "/v1/admin/api-keys", lambda response: read(response).data, params=params)


def revoke_key(key_id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/admin/api-keys/{key_id}", nothing)


def read_quotas(tenant: str | None) -> ApiCall[QuotaView]:
    """tenant: None for the caller's own; others are for operators."""
    return ApiCall("GET", "/v1/quotas" if tenant is None else _quotas_of(tenant), resource(QuotaView))


def set_quotas(tenant: str, **limits: Unpack[QuotaLimits]) -> ApiCall[QuotaView]:
    return ApiCall("PUT", _quotas_of(tenant), resource(QuotaView), body=plain_json(limits))


def reset_quotas(tenant: str) -> ApiCall[None]:
    return ApiCall("DELETE", _quotas_of(tenant), nothing)


def _quotas_of(tenant: str) -> str:
    return f"/v1/admin/tenants/{quote(tenant, safe='')}/quotas"


GROUPINGS: tuple[Grouping, ...] = ("day", "key")


def read_usage(
    first: date | None, last: date | None, group_by: Sequence[Grouping], tenant: str | None
) -> ApiCall[UsageReport]:
    """tenant: None for the caller's own; others are for operators."""
    path = "/v1/usage" if tenant is None else f"/v1/admin/tenants/{quote(tenant, safe='')}/usage"
    days = (("from", first), ("to", last))
    params = tuple((name, day.isoformat()) for name, day in days if day is not None)
    return ApiCall("GET", path, resource(UsageReport), params=params + tuple(("group_by", each) for each in group_by))
