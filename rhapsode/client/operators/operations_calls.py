"""Every request of operators as a value, and its answers. No I/O: both clients send these."""

from __future__ import annotations

from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.contract.operators.fleet import (
    AuditView,
    DeadLetterList,
    FleetHistory,
    FleetMinute,
    QueueList,
    WorkerList,
    WorkerView,
)
from rhapsode.contract.operators.reconcile import ReconcileView


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
