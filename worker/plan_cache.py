"""Plans read from the store, kept while they are in use: a book's thousands of segments share one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future

from storage.artifacts import ArtifactStore
from storage.plan import PlannedSegment, decode_plan

Plan = tuple[PlannedSegment, ...]

MAX_BYTES = 64 * 1024 * 1024

DECODED_FACTOR = 3
"""A decoded plan takes about three times its bytes in the store."""


class PlanCache:
    """Least recently used plans up to `max_bytes` (the newest stays in any case). Plans never change under a key.

    Thread-safe; several threads that miss the same plan read it once. `hits` and `misses` count lookups.
    """

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        self._artifacts = artifacts
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._plans: OrderedDict[str, tuple[Plan, int]] = OrderedDict()
        self._loading: dict[str, Future[Plan]] = {}
        self._bytes = 0
        self.hits = 0
        self.misses = 0

    def get(self, key: str) -> Plan:
        """Raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`; a failure is not remembered."""
        with self._lock:
            if key in self._plans:
                self.hits += 1
                self._plans.move_to_end(key)
                return self._plans[key][0]
            self.misses += 1
            others = self._loading.get(key)
            promise = others or self._loading.setdefault(key, Future())
        return self._load(key, promise) if others is None else others.result()

    def _load(self, key: str, promise: Future[Plan]) -> Plan:
        try:
            data = self._artifacts.get(key)
            plan = decode_plan(data)
        except BaseException as error:
            with self._lock:
                del self._loading[key]
            promise.set_exception(error)
            raise
        with self._lock:
            self._keep(key, plan, DECODED_FACTOR * len(data))
            del self._loading[key]
        promise.set_result(plan)
        return plan

    def _keep(self, key: str, plan: Plan, size: int) -> None:
        self._plans[key] = (plan, size)
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._plans) > 1:
            _, (_, dropped) = self._plans.popitem(last=False)
            self._bytes -= dropped
