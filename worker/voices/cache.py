"""Voices in this worker's memory: found without any I/O, bounded in bytes, loaded once however many ask.

Keyed by content, a voice that changed is another entry, so that nothing here is ever out of date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from storage.ids import ContentKey
from worker.engine.interface import VoicePrompt
from worker.voices.voice_files import memory_bytes

logger = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5


@dataclass(slots=True)
class VoiceCacheStats:
    """Since start: lookups that were answered from memory or not, loads that ended well, and the time these took.

    voices, bytes: that are there now.
    """

    hits: int = 0
    misses: int = 0
    loads: int = 0
    load_s: float = 0.0
    evictions: int = 0
    voices: int = 0
    bytes: int = 0


MAX_BYTES = 64 << 20
"""A voice takes 5 to 40 kB."""


class PromptCache:
    """Least recently used prompts up to `max_bytes`; the newest stays in any case. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._voices: OrderedDict[ContentKey, VoicePrompt] = OrderedDict()
        self._loading: dict[ContentKey, threading.Event] = {}
        self._stats = VoiceCacheStats()

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
            return replace(self._stats)

    def _look_up(self, content: ContentKey) -> VoicePrompt | None:
        with self._lock:
            found = self._voices.get(content)
            if found is None:
                self._stats.misses += 1
            else:
                self._stats.hits += 1
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
            now = self._stats
            self._voices[content] = prompt
            now.bytes += memory_bytes(prompt)
            now.loads += 1
            now.load_s += took_s
            while now.bytes > self._max_bytes and len(self._voices) > 1:
                _, dropped = self._voices.popitem(last=False)
                now.bytes -= memory_bytes(dropped)
                now.evictions += 1
            now.voices = len(self._voices)
            facts = {"voices": now.voices, "bytes": now.bytes, "hits": now.hits, "misses": now.misses}
        logger.info("voice loaded", extra={"content": content, "load_ms": round(took_s * 1000), **facts})
