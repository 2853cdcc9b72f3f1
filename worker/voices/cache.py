"""Voices in this worker's memory: found without any I/O, bounded in bytes, loaded once however many ask.

Keyed by content, a voice that changed is another entry, so that nothing here is ever out of date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from storage.ids import ContentKey
from worker.engine.interface import VoicePrompt
from worker.voices.voice_files import memory_bytes

logger = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class VoiceCacheStats:
    """Since start: lookups that were answered from memory or not, loads that ended well, and the time these took."""

    hits: int
    misses: int
    loads: int
    load_s: float
    evictions: int
    voices: int
    bytes: int


MAX_BYTES = 64 << 20
"""A voice takes 5 to 40 kB."""


class PromptCache:
    """Least recently used prompts up to `max_bytes`; the newest stays in any case. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._voices: OrderedDict[ContentKey, VoicePrompt] = OrderedDict()
        self._loading: dict[ContentKey, threading.Event] = {}
        self._bytes = 0
        self._hits = self._misses = self._loads = self._evictions = 0
        self._load_s = 0.0

    def get(
        self, content: ContentKey, load: Callable[[], VoicePrompt], check: Callable[[], None] = lambda: None
    ) -> VoicePrompt:
        """The voice, by `load` if it is not here. One load of a content is under way at a time.

        A load that fails fails its own caller; each waiter tries in turn, because the failure may have been
        that caller's alone (its lease was lost). `check` is called while waiting, and ends the wait by raising.
        """
        found = self._look_up(content)
        while found is None:
            others = self._join_or_begin(content)
            if others is None:
                return self._load(content, load)
            while not others.wait(_CHECK_EVERY_S):
                check()
            check()
            with self._lock:
                found = self._voices.get(content)
        return found

    def stats(self) -> VoiceCacheStats:
        with self._lock:
            return VoiceCacheStats(
                hits=self._hits,
                misses=self._misses,
                loads=self._loads,
                load_s=self._load_s,
                evictions=self._evictions,
                voices=len(self._voices),
                bytes=self._bytes,
            )

    def _look_up(self, content: ContentKey) -> VoicePrompt | None:
        with self._lock:
            found = self._voices.get(content)
            if found is None:
                self._misses += 1
            else:
                self._hits += 1
                self._voices.move_to_end(content)
            return found

    def _join_or_begin(self, content: ContentKey) -> threading.Event | None:
        """The load under way; None if it is now the caller's to do."""
        with self._lock:
            if content in self._loading:
                return self._loading[content]
            self._loading[content] = threading.Event()
            return None

    def _load(self, content: ContentKey, load: Callable[[], VoicePrompt]) -> VoicePrompt:
        start = time.perf_counter()
        try:
            with self._lock:
                # Another thread may have brought it between our look and our turn.
                prompt = self._voices.get(content)
            if prompt is None:
                prompt = load()
                self._keep(content, prompt, time.perf_counter() - start)
            return prompt
        finally:
            with self._lock:
                self._loading.pop(content).set()

    def _keep(self, content: ContentKey, prompt: VoicePrompt, took_s: float) -> None:
        with self._lock:
            self._voices[content] = prompt
            self._bytes += memory_bytes(prompt)
            self._loads += 1
            self._load_s += took_s
            while self._bytes > self._max_bytes and len(self._voices) > 1:
                _, dropped = self._voices.popitem(last=False)
                self._bytes -= memory_bytes(dropped)
                self._evictions += 1
            facts = {"voices": len(self._voices), "bytes": self._bytes, "hits": self._hits, "misses": self._misses}
        logger.info("voice loaded", extra={"content": content, "load_ms": round(took_s * 1000), **facts})
