"""The engine of whole sentences: each slot is a thread that makes one call of the model after the other."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from worker.engine.config_digest import configured
from worker.engine.errors import EngineDied, EngineError, RequestCancelled, RequestRejected
from worker.engine.interface import (
    CodecFrames,
    EngineStats,
    FinishReason,
    OnAudio,
    Pcm,
    ReferenceAudio,
    Speech,
    SpeechChunk,
    SpeechRequest,
    Urgency,
    VoicePrompt,
)
from worker.engine.kokoro.description import describe_kokoro
from worker.engine.kokoro.files import read_model, read_symbols, read_voices
from worker.engine.kokoro.model import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, KokoroModel, ModelCall, ThreadClock
from worker.engine.kokoro.speaking import Utterance, spoken_parts, utterance_of
from worker.engine.kokoro.voices import KokoroVoices
from worker.engine.serving.admission_queue import AdmissionQueue
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.settings import KokoroEngineSettings

logger = logging.getLogger(__name__)

_CHUNKS = ChunkPlan(first=4, most=40)


@dataclass(slots=True, eq=False)
class _Running:
    """heard: the frames that `on_audio` has got. is_dropped: nobody waits for it any more."""

    request: SpeechRequest
    said: Utterance
    future: Future[Speech]
    on_audio: OnAudio | None
    call: ModelCall = field(default_factory=ModelCall)
    heard: int = 0
    is_dropped: bool = False


class KokoroEngine:
    """`Engine` with Kokoro-82M on CPU cores. Raises CheckpointError and EngineNotInstalled."""

    def __init__(self, settings: KokoroEngineSettings) -> None:
        if settings.slots < 1:
            raise ValueError(f"an engine should have at least one slot, not {settings.slots}")
        self._voices = KokoroVoices(read_voices(settings.checkpoint))
        self._model = KokoroModel(read_model(), read_symbols(settings.checkpoint))
        self.info = configured(describe_kokoro(settings.checkpoint, settings.slots, settings.live_slots), settings)
        self._wake = threading.Condition()
        self._waiting: AdmissionQueue[_Running] = AdmissionQueue()
        self._waiting_live: AdmissionQueue[_Running] = AdmissionQueue()
        self._known: dict[str, _Running] = {}
        self._active: set[_Running] = set()
        self._frames = self._finished = 0
        self._closed = False
        self._clock = ThreadClock()
        self._slots = [
            *(self._slot(self._waiting, number) for number in range(settings.slots)),
            *(self._slot(self._waiting_live, number) for number in range(settings.live_slots)),
        ]

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        future: Future[Speech] = Future()
        future.set_running_or_notify_cancel()  # `cancel` is the way to give up, not Future.cancel
        try:
            said = utterance_of(request, self.info, self._voices, self._model)
            self._enqueue(_Running(request, said, future, on_audio))
        except EngineError as error:
            future.set_exception(error)
        return future

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        """No text is open here, so that there is none to extend."""

    def cancel(self, request_id: str) -> None:
        with self._wake:
            running = self._known.get(request_id)
            if running is None:
                return
            self._drop(running)
            for queue in (self._waiting_live, self._waiting):
                queue.take(lambda waiting: waiting is running)
        running.future.set_exception(RequestCancelled(f"request {request_id!r} was cancelled"))

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        future: Future[VoicePrompt] = Future()
        future.set_exception(RequestRejected("Kokoro speaks in its own voices and cannot clone"))
        return future

    def stats(self) -> EngineStats:
        with self._wake:
            waiting = len(self._waiting) + len(self._waiting_live)
            beats = self._finished + self._clock.steps()
            return EngineStats(0, self._frames, len(self._active), waiting, self._finished, beats)

    def close(self) -> None:
        with self._wake:
            self._closed = True
            orphans = [*self._known.values()]
            for running in orphans:
                self._drop(running)
            self._wake.notify_all()
        for running in orphans:
            running.future.set_exception(EngineDied("the engine was closed"))
        for slot in self._slots:
            slot.join()

    def _slot(self, waiting: AdmissionQueue[_Running], number: int) -> threading.Thread:
        name = f"kokoro-{'live' if waiting is self._waiting_live else 'slot'}-{number}"
        slot = threading.Thread(target=self._serve, args=(waiting,), name=name, daemon=True)
        slot.start()
        return slot

    def _enqueue(self, running: _Running) -> None:
        request = running.request
        with self._wake:
            if self._closed:
                raise EngineDied("the engine is closed")
            if request.request_id in self._known:
                raise RequestRejected(f"request {request.request_id!r} is already in flight")
            self._known[request.request_id] = running
            waiting = self._waiting_live if request.urgency is Urgency.LIVE else self._waiting
            waiting.add(running, request.urgency, is_opening=request.is_opening)
            self._wake.notify_all()

    def _drop(self, running: _Running) -> None:
        """The lock is held. A call of the model that is under way ends at its next operation."""
        running.is_dropped = True
        running.call.stop()
        del self._known[running.request.request_id]
        self._active.discard(running)

    def _serve(self, waiting: AdmissionQueue[_Running]) -> None:
        with self._clock.of_this_thread():
            while (running := self._next(waiting)) is not None:
                self._speak(running)

    def _next(self, waiting: AdmissionQueue[_Running]) -> _Running | None:
        with self._wake:
            self._wake.wait_for(lambda: self._closed or bool(waiting))
            if self._closed:
                return None
            running = waiting.pop()
            self._active.add(running)
            return running

    def _speak(self, running: _Running) -> None:
        begun_s = time.monotonic()
        parts: list[Pcm] = []
        try:
            for pcm in spoken_parts(running.said, self._model, running.call):
                if running.is_dropped:
                    return
                parts.append(pcm)
                self._tell(running, pcm)
        except Exception as error:  # a call that is terminated raises what the library has for it
            if not running.is_dropped:
                logger.exception("the model failed")
                self._end(running, error=EngineError(f"the model failed: {error}"))
            return
        self._end(running, _speech(running, np.concatenate(parts), time.monotonic() - begun_s))

    def _tell(self, running: _Running, pcm: Pcm) -> None:
        """In chunks that grow over the whole utterance, the last of each part as long as it is."""
        frames = len(pcm) // SAMPLES_PER_FRAME
        with self._wake:
            self._frames += frames
        if running.on_audio is None:
            return
        start = 0
        while start < frames and not running.is_dropped:
            end = min(frames, start + _CHUNKS.length_behind(running.said.skipped + running.heard))
            running.heard += end - start
            samples = pcm[start * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME]
            running.on_audio(SpeechChunk(samples, no_codes(end - start)))
            start = end

    def _end(self, running: _Running, speech: Speech | None = None, error: EngineError | None = None) -> None:
        with self._wake:
            if running.is_dropped:
                return
            self._drop(running)
            self._finished += 1
        if speech is not None:
            running.future.set_result(speech)
        else:
            running.future.set_exception(error)


def no_codes(num_frames: int) -> CodecFrames:
    """Frames of a model that has no codes."""
    return np.zeros((num_frames, 0), np.int16)


def _speech(running: _Running, pcm: Pcm, engine_s: float) -> Speech:
    num_frames = len(pcm) // SAMPLES_PER_FRAME
    is_cut = running.said.most_frames is not None and running.said.skipped + num_frames >= running.said.most_frames
    reason = FinishReason.LENGTH if is_cut else FinishReason.EOS
    phones = "" if running.said.skipped else running.said.phones
    return Speech(pcm, no_codes(num_frames), SAMPLE_RATE_HZ, reason, engine_s, running.said.guessed, phones)
