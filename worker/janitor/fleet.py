"""The fleet is looked at once a minute, for those who ask later how it was."""

from __future__ import annotations

import time

from storage.queue.fleet_history import FleetHistoryStore, minute_of
from storage.queue.overview import QueueOverviews
from storage.queue.worker_registry import WorkerRegistry


class FleetRecorder:
    def __init__(self, overviews: QueueOverviews, registry: WorkerRegistry, history: FleetHistoryStore) -> None:
        self._overviews = overviews
        self._registry = registry
        self._history = history

    def note_fleet(self) -> None:
        """Raises `StoreUnavailable`."""
        now_ms = round(time.time() * 1000)
        self._history.note(minute_of(self._overviews.read(), self._registry.list(), now_ms))
