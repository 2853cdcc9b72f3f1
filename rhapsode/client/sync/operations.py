# Made from rhapsode/client/aio/operations.py by `make generated`; change that file, not this one.
"""`client.operations`: workers, queues, and repairs. For operators."""

from __future__ import annotations

from collections.abc import Iterator

from rhapsode.client.operators import operations_calls
from rhapsode.client.sync.sending import Send, each_of
from rhapsode.contract.operators.fleet import AuditView, DeadLetterView, FleetMinute, QueueList, WorkerView
from rhapsode.contract.operators.reconcile import ReconcileView


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

    def history(self, minutes: int = 1440) -> tuple[FleetMinute, ...]:
        """How the fleet was, minute by minute, the oldest first; a day at most."""
        return self._send(operations_calls.get_fleet_history(minutes))

    def dead_letters(self) -> Iterator[DeadLetterView]:
        """Items that were given up, the newest first; pages are fetched as they are needed."""
        return each_of(self._send, operations_calls.list_dead_letters)

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
