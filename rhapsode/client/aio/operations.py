"""`client.operations`, `client.keys` and `client.quotas`: workers, queues, repairs, who may do what. For operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Unpack

from pydantic import JsonValue

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.calls import ApiCall, entries, given, nothing, path_of, resource, shown_once
from rhapsode.client.plain_json import json_object, plain_json
from rhapsode.client.request_options import QuotaLimits
from rhapsode.client.secret_answers import CreatedApiKey
from rhapsode.contract.operators.fleet import (
    AuditView,
    DeadLetterList,
    DeadLetterView,
    FleetHistory,
    FleetMinute,
    QueueList,
    WorkerList,
    WorkerView,
)
from rhapsode.contract.operators.keys import ApiKeyList, ApiKeyView
from rhapsode.contract.operators.quotas import QuotaView
from rhapsode.contract.operators.reconcile import ReconcileView

WORKERS = "/v1/admin/workers"
DEAD_LETTERS = "/v1/admin/dlq"
KEYS = "/v1/admin/api-keys"
DEFAULT_SCOPES = ("synth", "voices", "webhooks")


class AsyncOperations:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def workers(self) -> tuple[WorkerView, ...]:
        """Worker processes with a heartbeat in the last minute, by name."""
        return await self._send(ApiCall("GET", WORKERS, entries(resource(WorkerList))))

    async def drain(self, worker: str) -> WorkerView:
        """The worker finishes what it holds and claims nothing more; it stays."""
        return await self._send(ApiCall("POST", f"{path_of(WORKERS, worker)}/drain", resource(WorkerView)))

    async def undrain(self, worker: str) -> WorkerView:
        """The worker claims again."""
        return await self._send(ApiCall("POST", f"{path_of(WORKERS, worker)}/undrain", resource(WorkerView)))

    async def queues(self) -> QueueList:
        """What waits for which workers, and for how long."""
        return await self._send(ApiCall("GET", "/v1/admin/queues", resource(QueueList)))

    async def history(self, minutes: int = 1440) -> tuple[FleetMinute, ...]:
        """How the fleet was, minute by minute, the oldest first; a day at most."""
        read = entries(resource(FleetHistory))
        return await self._send(ApiCall("GET", "/v1/admin/fleet-history", read, params=given(minutes=minutes)))

    def dead_letters(self) -> AsyncIterator[DeadLetterView]:
        """Items that were given up, the newest first; pages are fetched as they are needed."""
        return each_of(self._send, ApiCall("GET", DEAD_LETTERS, resource(DeadLetterList), params=given(limit=200)))

    async def forget_dead_letter(self, entry: DeadLetterView | str) -> None:
        """Remove an entry."""
        await self._send(ApiCall("DELETE", path_of(DEAD_LETTERS, entry), nothing))

    async def audit(self) -> AuditView:
        """Count everything again and compare; repairs nothing."""
        return await self._send(ApiCall("POST", "/v1/admin/audit", resource(AuditView)))

    async def reconcile(self) -> AsyncIterator[ReconcileView]:
        """After Redis was restored from a backup: bring back what it does not know, piece by piece."""
        body: dict[str, JsonValue] = {}
        while True:
            step = await self._send(ApiCall("POST", "/v1/admin/reconcile", resource(ReconcileView), body=body))
            yield step
            if step.next_cursor is None:
                return
            body = {"cursor": step.next_cursor}


class AsyncKeys:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(
        self,
        tenant: str,
        name: str,
        *,
        scopes: Sequence[str] = DEFAULT_SCOPES,
        expires_at: datetime | None = None,
    ) -> CreatedApiKey:
        """A key for a tenant, who need not exist before. Its `secret` is in this answer and nowhere else."""
        body = json_object({"tenant": tenant, "name": name, "scopes": scopes, "expires_at": expires_at})
        read = shown_once(CreatedApiKey, "revoke the key {id} and make another")
        return await self._send(ApiCall("POST", KEYS, read, body=body))

    async def list(self, tenant: str | None = None) -> tuple[ApiKeyView, ...]:
        """The oldest first; those that are over too."""
        return await self._send(ApiCall("GET", KEYS, entries(resource(ApiKeyList)), params=given(tenant=tenant)))

    async def revoke(self, key: ApiKeyView | str) -> None:
        """From now on it opens nothing."""
        await self._send(ApiCall("DELETE", path_of(KEYS, key), nothing))


class AsyncQuotaSettings:
    """Another tenant's, and changing any, needs a key with the scope `admin`."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def read(self, tenant: str | None = None) -> QuotaView:
        """One's own, or a named tenant's."""
        path = "/v1/quotas" if tenant is None else _quotas_of(tenant)
        return await self._send(ApiCall("GET", path, resource(QuotaView)))

    async def set(self, tenant: str, **limits: Unpack[QuotaLimits]) -> QuotaView:
        """Set a tenant's limits. Missing ones return to the defaults."""
        return await self._send(ApiCall("PUT", _quotas_of(tenant), resource(QuotaView), body=plain_json(limits)))

    async def reset(self, tenant: str) -> None:
        """From now on the tenant has the limits of all."""
        await self._send(ApiCall("DELETE", _quotas_of(tenant), nothing))


def _quotas_of(tenant: str) -> str:
    return f"{path_of('/v1/admin/tenants', tenant)}/quotas"
