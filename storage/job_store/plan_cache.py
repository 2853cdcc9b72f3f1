"""The plans of jobs under way: the segments of narrations, and the voices of jobs that prepare voices; and of finished
jobs the lists of their files of chapters.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

from reading.plan.plan import Plan, decode_plan
from storage.jobs.chapter_files import ChapterFile
from storage.narration.voice_reference import VoiceReference
from storage.objects.store import ArtifactStore

MAX_BYTES = 64 * 1024 * 1024

DECODED_FACTOR = 3
"""A decoded plan takes about three times its bytes in the store."""

D = TypeVar("D")


class DecodedCache(Generic[D]):
    """Least recently used objects up to `max_bytes` (the newest stays in any case). Objects never change under a key.

    Thread-safe; several threads that miss the same object read it once. `hits` and `misses` count lookups.
    """

    def __init__(self, artifacts: ArtifactStore, decode: Callable[[bytes], D], max_bytes: int = MAX_BYTES) -> None:
        self._artifacts = artifacts
        self._decode = decode
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._decoded: OrderedDict[str, tuple[D, int]] = OrderedDict()
        self._loading: dict[str, Future[D]] = {}
        self._bytes = 0
        self.hits = 0
        self.misses = 0

    def get(self, key: str) -> D:
        """Raises `ArtifactMissing`, `StoreUnavailable` or what `decode` raises; a failure is not remembered."""
        with self._lock:
            if key in self._decoded:
                self.hits += 1
                self._decoded.move_to_end(key)
                return self._decoded[key][0]
            self.misses += 1
            others = self._loading.get(key)
            promise = others or self._loading.setdefault(key, Future())
        return self._load(key, promise) if others is None else others.result()

    def _load(self, key: str, promise: Future[D]) -> D:
        try:
            data = self._artifacts.get(key)
            decoded = self._decode(data)
        except BaseException as error:
            with self._lock:
                del self._loading[key]
            promise.set_exception(error)
            raise
        with self._lock:
            self._keep(key, decoded, DECODED_FACTOR * len(data))
            del self._loading[key]
        promise.set_result(decoded)
        return decoded

    def _keep(self, key: str, decoded: D, size: int) -> None:
        self._decoded[key] = (decoded, size)
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._decoded) > 1:
            _, (_, dropped) = self._decoded.popitem(last=False)
            self._bytes -= dropped


ChapterFileCache = DecodedCache[tuple[ChapterFile, ...]]
VoicePlan = tuple[VoiceReference, ...]
VoicePlanCache = DecodedCache[VoicePlan]


class Planned(Protocol):
    """A record or an item, which has its plan with it or knows where that lies."""

    @property
    def plan_key(self) -> str | None: ...
    @property
    def plan_document(self) -> str: ...


class PlanCache(DecodedCache[Plan]):
    """`get` raises `ArtifactMissing`, `PlanFormatError` or `StoreUnavailable`."""

    def __init__(self, artifacts: ArtifactStore, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(artifacts, decode_plan, max_bytes)

    def of(self, planned: Planned) -> Plan:
        """Of a job that is planned. Raises as `get`."""
        if planned.plan_key is not None:
            return self.get(planned.plan_key)
        if not planned.plan_document:
            raise ValueError("the job is not planned yet")
        return decode_plan(planned.plan_document.encode())
