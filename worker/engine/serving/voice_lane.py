"""Encode recordings in parallel with the talker. Those that wait at the same time form one batch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from worker.engine.errors import RequestRejected
from worker.engine.interface import ReferenceAudio, VoicePrompt
from worker.engine.serving.voice_encoder import PreparedVoice, VoiceEncoder

Settle = Callable[[Future[VoicePrompt], "VoicePrompt | RequestRejected"], None]
"""Takes the result or the error of a recording; called once for each."""


_Waiting = tuple[ReferenceAudio, Future[VoicePrompt]]
_Ready = tuple[PreparedVoice, Future[VoicePrompt]]


class VoiceLane:
    """One thread. A recording waits only for the current pass; those that arrive meanwhile form the next batch.

    max_together_s: padded seconds of audio in one pass. A single recording may be longer.
    """

    def __init__(self, encoder: VoiceEncoder, max_together_s: float) -> None:
        self._encoder = encoder
        self._max_together_s = max_together_s
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._closed = False
        self._thread: threading.Thread | None = None
        # For the lane's thread only: prepared, but too long for the last pass.
        self._left_over: _Ready | None = None

    def start(self, run_guarded: Callable[[Callable[[], None]], None], settle: Settle) -> None:
        """run_guarded: runs the lane's thread, as in `CodecClient`."""
        run = partial(self._run, settle)
        self._thread = threading.Thread(target=run_guarded, args=(run,), name="voice-encoder", daemon=True)
        self._thread.start()

    def put(self, reference: ReferenceAudio, future: Future[VoicePrompt]) -> None:
        with self._changed:
            self._waiting.append((reference, future))
            self._changed.notify()

    def close(self) -> None:
        """End after the current pass. Any thread may call this, also repeatedly."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, settle: Settle) -> None:
        while batch := self._gather(settle):
            prompts = self._encoder.encode([voice for voice, _ in batch])
            for (_, future), prompt in zip(batch, prompts, strict=True):
                settle(future, prompt)

    def _gather(self, settle: Settle) -> list[_Ready]:
        """The next batch: at least one recording, or none once the lane is closed."""
        batch: list[_Ready] = []
        longest_s = 0.0
        while (ready := self._next(settle, may_wait=not batch)) is not None:
            voice, _ = ready
            longest_s = max(longest_s, voice.duration_s)
            if batch and (len(batch) + 1) * longest_s > self._max_together_s:
                self._left_over = ready
                break
            batch.append(ready)
        return [] if self._closed else batch

    def _next(self, settle: Settle, *, may_wait: bool) -> _Ready | None:
        if self._left_over is not None:
            ready, self._left_over = self._left_over, None
            return ready
        while (waiting := self._take(may_wait=may_wait)) is not None:
            reference, future = waiting
            try:
                return self._encoder.prepare(reference), future
            except RequestRejected as error:
                settle(future, error)
        return None

    def _take(self, *, may_wait: bool) -> _Waiting | None:
        with self._changed:
            while may_wait and not (self._waiting or self._closed):
                self._changed.wait()
            return None if self._closed or not self._waiting else self._waiting.popleft()
