"""`client.operations`: workers, queues, and repairs. For operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from rhapsode.client.operators import operations_calls
from rhapsode.client.voices.async_voices import AsyncSend
from rhapsode.client.voices.voices import Send
from rhapsode.contract.operators.fleet import AuditView, DeadLetterView, QueueList, WorkerView
from rhapsode.contract.operators.reconcile import ReconcileView

PAGE = 200


class Operations:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def workers(self) -> tuple[WorkerView, ...]:
        """Every worker process that was heard of in the last minute, by name."""
        return self._send(operations_calls.list_workers())

    def drain(self, worker: str) -> WorkerView:
        """The worker finishes what it holds and claims nothing more; it stays."""
        return self._send(operations_calls.drain_worker(worker))

    def undrain(self, worker: str) -> WorkerView:
        """The worker claims again."""
        return self._send(operations_calls.undrain_worker(worker))

    def queues(self) -> QueueList:
        """What waits for which workers, and for how long."""
        return self._send(operations_calls.list_queues())

    def dead_letters(self) -> Iterator[DeadLetterView]:
        """Items that were given up, the newest first; pages are fetched as they are needed."""
        cursor = None
        while True:
            page = self._send(operations_calls.list_dead_letters(cursor, PAGE))
            yield from page.data
            if not page.has_more:
                return
            cursor = page.next_cursor

    def forget_dead_letter(self, entry: DeadLetterView | str) -> None:
        """Somebody has seen to it."""
        self._send(operations_calls.forget_dead_letter(entry if isinstance(entry, str) else entry.id))

    def audit(self) -> AuditView:
        """Count everything again and compare; repairs nothing."""
        return self._send(operations_calls.audit())

    def reconcile(self) -> Iterator[ReconcileView]:
        """After Redis was restored from a backup: bring back what it does not know, piece by piece."""
        cursor = None
        while True:
            step = self._send(operations_calls.reconcile(cursor))
            yield step
            cursor = step.next_cursor
            if cursor is None:
                return


class AsyncOperations:
    """As `Operations`, awaited."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def workers(self) -> tuple[WorkerView, ...]:
        return await self._send(operations_calls.list_workers())

    async def drain(self, worker: str) -> WorkerView:
        return await self._send(operations_calls.drain_worker(worker))

    async def undrain(self, worker: str) -> WorkerView:
        return await self._send(operations_calls.undrain_worker(worker))

    async def queues(self) -> QueueList:
        return await self._send(operations_calls.list_queues())

    async def dead_letters(self) -> AsyncIterator[DeadLetterView]:
        cursor = None
        while True:
            page = await self._send(operations_calls.list_dead_letters(cursor, PAGE))
            for item in page.data:
                yield item
            if not page.has_more:
                return
            cursor = page.next_cursor

    async def forget_dead_letter(self, entry: DeadLetterView | str) -> None:
        await self._send(operations_calls.forget_dead_letter(entry if isinstance(entry, str) else entry.id))

    async def audit(self) -> AuditView:
        return await self._send(operations_calls.audit())

    async def reconcile(self) -> AsyncIterator[ReconcileView]:
        cursor = None
        while True:
            step = await self._send(operations_calls.reconcile(cursor))
            yield step
            cursor = step.next_cursor
            if cursor is None:
                return
