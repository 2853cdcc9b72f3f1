"""`client.operations`, `client.keys` and `client.quotas`: workers, queues, repairs, who may do what. For operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Unpack

from rhapsode.client import operator_calls
from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.operator_calls import DEFAULT_SCOPES, CreatedApiKey
from rhapsode.client.request_options import QuotaLimits
from rhapsode.contract.operators.fleet import AuditView, DeadLetterView, FleetMinute, QueueList, WorkerView
from rhapsode.contract.operators.keys import ApiKeyView
from rhapsode.contract.operators.quotas import QuotaView
from rhapsode.contract.operators.reconcile import ReconcileView


class AsyncOperations:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def workers(self) -> tuple[WorkerView, ...]:
        """Worker processes with a heartbeat in the last minute, by name."""
        return await self._send(operator_calls.list_workers())

    async def drain(self, worker: str) -> WorkerView:
        """The worker finishes what it holds and claims nothing more; it stays."""
        return await self._send(operator_calls.drain_worker(worker))

    async def undrain(self, worker: str) -> WorkerView:
        """The worker claims again."""
        return await self._send(operator_calls.undrain_worker(worker))

    async def queues(self) -> QueueList:
        """What waits for which workers, and for how long."""
        return await self._send(operator_calls.list_queues())

    async def history(self, minutes: int = 1440) -> tuple[FleetMinute, ...]:
        """How the fleet was, minute by minute, the oldest first; a day at most."""
        return await self._send(operator_calls.get_fleet_history(minutes))

    def dead_letters(self) -> AsyncIterator[DeadLetterView]:
        """Items that were given up, the newest first; pages are fetched as they are needed."""
        return each_of(self._send, operator_calls.list_dead_letters)

    async def forget_dead_letter(self, entry: DeadLetterView | str) -> None:
        """Remove an entry."""
        await self._send(operator_calls.forget_dead_letter(entry if isinstance(entry, str) else entry.id))

    async def audit(self) -> AuditView:
        """Count everything again and compare; repairs nothing."""
        return await self._send(operator_calls.audit())

    async def reconcile(self) -> AsyncIterator[ReconcileView]:
        """After Redis was restored from a backup: bring back what it does not know, piece by piece."""
        cursor = None
        while True:
            step = await self._send(operator_calls.reconcile(cursor))
            yield step
            cursor = step.next_cursor
            if cursor is None:
                return


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
        return await self._send(operator_calls.create_key(tenant, name, scopes, expires_at))

    async def list(self, tenant: str | None = None) -> tuple[ApiKeyView, ...]:
        """The oldest first; those that are over too."""
        return await self._send(operator_calls.list_keys(tenant))

    async def revoke(self, key: ApiKeyView | str) -> None:
        """From now on it opens nothing."""
        await self._send(operator_calls.revoke_key(key if isinstance(key, str) else key.id))


class AsyncQuotaSettings:
    """Another tenant's, and changing any, needs a key with the scope `admin`."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def read(self, tenant: str | None = None) -> QuotaView:
        """One's own, or a named tenant's."""
        return await self._send(operator_calls.read_quotas(tenant))

    async def set(self, tenant: str, **limits: Unpack[QuotaLimits]) -> QuotaView:
        """Set a tenant's limits. Missing ones return to the defaults."""
        return await self._send(operator_calls.set_quotas(tenant, **limits))

    async def reset(self, tenant: str) -> None:
        """From now on the tenant has the limits of all."""
        await self._send(operator_calls.reset_quotas(tenant))
