"""The cards of models as a process has read them lately, for what may not wait for Redis."""

from __future__ import annotations

import threading

import redis

from storage.queue.model_registry import ModelCard, ModelRegistry


class RecentModels(ModelRegistry):
    """`list` asks no server: it has what the last `look` found. Any thread."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        super().__init__(redis, key_prefix)
        self._cards: tuple[ModelCard, ...] = ()
        self._looking = threading.Lock()

    def look(self) -> None:
        """Raises `StoreUnavailable`."""
        with self._looking:
            self._cards = super().list()

    def list(self) -> tuple[ModelCard, ...]:
        return self._cards
