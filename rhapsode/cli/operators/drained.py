"""Queues whose workers were all drained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.operators.fleet import WorkerView


def drained_workers(workers: Sequence[WorkerView]) -> list[WorkerView]:
    """Those that drain or are drained, of queues in which no other worker claims."""
    claiming = {worker.queue for worker in workers if worker.state in ("loading", "ready")}
    return [worker for worker in workers if worker.state in ("draining", "drained") and worker.queue not in claiming]


def has_drained_workers(client: Rhapsode, model: str) -> bool:
    """Whether the model has workers and all are drained. False also for a caller who may not list workers."""
    from rhapsode.errors import Unauthorized

    try:
        return any(worker.model == model for worker in drained_workers(client.operations.workers()))
    except Unauthorized:
        return False
