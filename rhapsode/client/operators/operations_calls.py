"""Every request of operators as a value, and its answers. No I/O: both clients send these."""

from __future__ import annotations

from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import Call, nothing, resource
from rhapsode.client.operators.operations_resources import (
    Audit,
    DeadLetterPage,
    Queues,
    ReconcileStep,
    Worker,
    WorkerList,
)


def list_workers() -> Call[tuple[Worker, ...]]:
    read = resource(WorkerList)
    return Call("GET", "/v1/admin/workers", lambda response: read(response).data)


def drain_worker(name: str) -> Call[Worker]:
    return Call("POST", f"{_worker(name)}/drain", resource(Worker))


def undrain_worker(name: str) -> Call[Worker]:
    return Call("POST", f"{_worker(name)}/undrain", resource(Worker))


def list_queues() -> Call[Queues]:
    return Call("GET", "/v1/admin/queues", resource(Queues))


def list_dead_letters(cursor: str | None, limit: int) -> Call[DeadLetterPage]:
    params = (("limit", str(limit)), *((("cursor", cursor),) if cursor else ()))
    return Call("GET", "/v1/admin/dlq", resource(DeadLetterPage), params=params)


def forget_dead_letter(entry: str) -> Call[None]:
    return Call("DELETE", f"/v1/admin/dlq/{quote(entry, safe='')}", nothing)


def audit() -> Call[Audit]:
    return Call("POST", "/v1/admin/audit", resource(Audit))


def reconcile(cursor: str | None) -> Call[ReconcileStep]:
    body: dict[str, JsonValue] = {"cursor": cursor} if cursor else {}
    return Call("POST", "/v1/admin/reconcile", resource(ReconcileStep), body=body)


def _worker(name: str) -> str:
    return f"/v1/admin/workers/{quote(name, safe='')}"
