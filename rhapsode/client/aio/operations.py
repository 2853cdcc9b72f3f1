"""`client.operations`: workers, queues, and repairs. For operators."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.operators import operations_calls
from rhapsode.contract.operators.fleet import AuditView, DeadLetterView, FleetMinute, QueueList, WorkerView
from rhapsode.contract.operators.reconcile import ReconcileView


class AsyncOperations:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def workers(self) -> tuple[WorkerView, ...]:
        """Every worker process that was heard of in the last minute, by name."""
        return await self._send(operations_calls.list_workers())

    async def drain(self, worker: str) -> WorkerView:
        """The worker finishes what it holds and claims nothing more; it stays."""
        return await self._send(operations_calls.drain_worker(worker))

    async def undrain(self, worker: str) -> WorkerView:
        """The worker claims again."""
        return await self._send(operations_calls.undrain_worker(worker))

    async def queues(self) -> QueueList:
        """What waits for which workers, and for how long."""
        return await self._send(operations_calls.list_queues())

    async def history(self, minutes: int = 1440) -> tuple[FleetMinute, ...]:
        """How the fleet was, minute by minute, the oldest first; a day at most."""
        return await self._send(operations_calls.get_fleet_history(minutes))

    def dead_letters(self) -> AsyncIterator[DeadLetterView]:
        """Items that were given up, the newest first; pages are fetched as they are needed."""
        return each_of(self._send, operations_calls.list_dead_letters)

    async def forget_dead_letter(self, entry: DeadLetterView | str) -> None:
        """Somebody has seen to it."""
        await self._send(operations_calls.forget_dead_letter(entry if isinstance(entry, str) else entry.id))

    async def audit(self) -> AuditView:
        """Count everything again and compare; repairs nothing."""
        return await self._send(operations_calls.audit())

    async def reconcile(self) -> AsyncIterator[ReconcileView]:
        """After Redis was restored from a backup: bring back what it does not know, piece by piece."""
        cursor = None
        while True:
            step = await self._send(operations_calls.reconcile(cursor))
            yield step
            cursor = step.next_cursor
            if cursor is None:
                return
