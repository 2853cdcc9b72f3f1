"""An engine without a model, for tests and load benchmarks of everything around the engine.

Its speech is a pure function of text and seed: `fake_speech`, and `fake_streamed_speech` of a text that is spoken frame
by frame. So a test knows every byte that a whole system must deliver. It has slots, takes time per frame, can be
cancelled, and two marked texts make it die or hang the way real engines do.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.config_digest import configured
from worker.engine.errors import EngineDied, EngineError, RequestCancelled, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    CodecFrames,
    EngineInfo,
    EngineStats,
    FinishReason,
    InContextPrompt,
    ModelTask,
    OnAudio,
    Pcm,
    ReferenceAudio,
    SamplingParams,
    SegmentStyle,
    Speech,
    SpeechChunk,
    SpeechRequest,
    TextFrontEnd,
    TextMode,
    Urgency,
    VoiceMode,
    VoicePrompt,
    XVectorPrompt,
)
from worker.engine.requests.prefix import checked_prefix
from worker.engine.serving.admission_queue import AdmissionQueue
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.settings import FakeEngineSettings

POISON_MARKER = "poison kills the fake engine"
"""A text that contains it ends the process, without a word, once its first frame is due."""

HANG_MARKER = "poison hangs the fake engine"
"""A text that contains it blocks the loop: the process lives, no step is made."""

POISON_EXIT_STATUS = 86

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1_920
NUM_CODEBOOKS = 16
CODEBOOK_SIZE = 2_048
SPEAKER_DIM = 8
SPEAKERS = ("ada", "tom")
LANGUAGES = ("english", "german")
MAX_TEXT_TOKENS = 4_096
MAX_TEXT_CHARS = 1_000
"""The fake counts one token per character."""

_LEAST_FRAMES = 4
_CHARS_PER_FRAME = 2
_PHASES = 1 << 16
_CHUNKS = ChunkPlan(first=1, most=16)


def fake_speech(text: str, seed: int) -> tuple[Pcm, CodecFrames]:
    """What the fake engine says for `text`: samples (T * 1920,) in [-0.25, 0.25] and frames (T, 16).

    A pure function, exact on every machine. The samples are a triangle wave in integer arithmetic whose pitch follows
    codebook 0. The first and last frames are silent, like the edges of real speech.
    """
    num_frames = _LEAST_FRAMES + len(text) // _CHARS_PER_FRAME
    frames = _draw_frames(hashlib.sha256(f"{seed}:{text}".encode()).digest(), num_frames)
    return _sound_of(frames), frames


def fake_streamed_speech(text: str, seed: int) -> tuple[Pcm, CodecFrames]:
    """The same in `TextMode.PER_FRAME`: frame t, of as many, follows from the first 2 (t + 1) characters alone."""
    digest = hashlib.sha256(f"{seed}:".encode())
    frames: list[CodecFrames] = []
    for frame in range(_LEAST_FRAMES + len(text) // _CHARS_PER_FRAME):
        digest.update(text[frame * _CHARS_PER_FRAME : (frame + 1) * _CHARS_PER_FRAME].encode() or b"\0")
        frames.append(_draw_frames(digest.digest(), 1))
    drawn = np.concatenate(frames)
    return _sound_of(drawn), drawn


def _sound_of(frames: CodecFrames) -> Pcm:
    pitch = np.repeat(frames[:, 0].astype(np.int64) + 200, SAMPLES_PER_FRAME)
    phase = np.cumsum(pitch) % _PHASES
    triangle = np.abs(phase - _PHASES // 2) - _PHASES // 4
    pcm = triangle.astype(np.float32) / np.float32(_PHASES)
    pcm[:SAMPLES_PER_FRAME] = 0
    pcm[-SAMPLES_PER_FRAME:] = 0
    return pcm


def _draw_frames(key: bytes, num_frames: int) -> CodecFrames:
    # SHAKE rather than numpy's generators: their streams may change between releases, recorded bytes must not.
    drawn: NDArray[np.uint16] = np.frombuffer(hashlib.shake_128(key).digest(num_frames * NUM_CODEBOOKS * 2), "<u2")
    return (drawn % CODEBOOK_SIZE).astype(np.int16).reshape(num_frames, NUM_CODEBOOKS)


@dataclass(slots=True)
class _Running:
    """A request with its future. `admitted_s` is on the monotonic clock; 0 while it waits for a slot.

    text: as far as it is known. frames_done, frames_heard: those that are made, and those whose samples `on_audio` has
    got, the prefix's with them.
    """

    request: SpeechRequest
    future: Future[Speech]
    on_audio: OnAudio | None
    text: str
    is_open: bool
    frames_done: int
    frames_heard: int
    admitted_s: float = 0.0
    _said: tuple[str, Pcm, CodecFrames] | None = None

    @classmethod
    def begun(cls, request: SpeechRequest, future: Future[Speech], on_audio: OnAudio | None) -> _Running:
        num_prefix = 0 if request.prefix is None else len(request.prefix)
        return cls(request, future, on_audio, request.text, request.text_is_open, num_prefix, num_prefix)

    @property
    def num_prefix(self) -> int:
        return 0 if self.request.prefix is None else len(self.request.prefix)

    @property
    def num_frames(self) -> int:
        natural, most = _LEAST_FRAMES + len(self.text) // _CHARS_PER_FRAME, self.request.max_frames
        return natural if most is None else min(natural, most)

    @property
    def stands_still(self) -> bool:
        """The characters of its next frame are not known, or not all that are made after the last one."""
        return self.is_open and (self.frames_done + 1) * _CHARS_PER_FRAME > len(self.text)

    @property
    def is_complete(self) -> bool:
        most = self.request.max_frames
        if most is not None and self.frames_done >= most:
            return True
        return not self.is_open and self.frames_done >= self.num_frames

    def write_on(self, text: str, *, is_last: bool) -> None:
        self.text += text
        self.is_open = not is_last

    def said(self) -> tuple[Pcm, CodecFrames]:
        """Of the text as far as it is known, which may grow meanwhile; made when the first of it is wanted."""
        text = self.text
        if self._said is None or self._said[0] != text:
            per_frame = self.request.text_mode is TextMode.PER_FRAME
            self._said = (text, *(fake_streamed_speech if per_frame else fake_speech)(text, self.request.seed))
        return self._said[1:]


class FakeEngine:
    """`Engine` that sounds like a telephone exchange. One separate thread runs the loop. Raises ValueError."""

    def __init__(self, settings: FakeEngineSettings) -> None:
        if settings.slots < 1:
            raise ValueError(f"an engine should have at least one slot, not {settings.slots}")
        self._settings = settings
        self.info = configured(describe_fake(settings), settings)
        self._wake = threading.Condition()
        self._waiting: AdmissionQueue[_Running] = AdmissionQueue()
        self._waiting_live: AdmissionQueue[_Running] = AdmissionQueue()
        self._active: dict[str, _Running] = {}
        self._known: dict[str, _Running] = {}
        self._steps = self._frames = self._finished = 0
        self._closed = False
        self._loop = threading.Thread(target=self._run, name="fake-engine-loop", daemon=True)
        self._loop.start()

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        """Any kind of conditioning is taken, and none changes the sound; an unknown name is rejected."""
        future: Future[Speech] = Future()
        future.set_running_or_notify_cancel()  # `cancel` is the way to give up, not Future.cancel
        try:
            self._check(request)
            with self._wake:
                self._enqueue(_Running.begun(request, future, on_audio))
        except EngineError as error:
            future.set_exception(error)
        return future

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        with self._wake:
            running = self._known.get(request_id)
            if running is None or not running.is_open:
                return
            running.write_on(text, is_last=is_last)
            rejection = _complaint(running)
            if rejection is None:
                self._wake.notify_all()
                return
            self._drop(request_id)
        running.future.set_exception(rejection)

    def cancel(self, request_id: str) -> None:
        with self._wake:
            running = self._drop(request_id)
            if running is None:
                return
        running.future.set_exception(RequestCancelled(f"request {request_id!r} was cancelled"))

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        """The embedding is drawn from the recording's digest; the codes are those of what it says."""
        future: Future[VoicePrompt] = Future()
        digest = hashlib.sha256(reference.pcm.tobytes()).digest()
        embedding = np.frombuffer(digest[:SPEAKER_DIM], np.uint8).astype(np.float32) / np.float32(255)
        if reference.pcm.size == 0:
            future.set_exception(RequestRejected("the reference audio is empty"))
        elif reference.ref_text is None:
            future.set_result(XVectorPrompt(embedding))
        else:
            ids = tuple(reference.ref_text.encode())
            future.set_result(InContextPrompt(embedding, _draw_frames(digest, 12), reference.ref_text, ids))
        return future

    def stats(self) -> EngineStats:
        with self._wake:
            waiting = len(self._waiting) + len(self._waiting_live)
            standing = sum(running.stands_still for running in self._active.values())
            return EngineStats(self._steps, self._frames, len(self._active), waiting, self._finished, standing=standing)

    def close(self) -> None:
        with self._wake:
            self._closed = True
            orphans = [*self._active.values(), *self._waiting.drain(), *self._waiting_live.drain()]
            self._active.clear()
            self._known.clear()
            self._wake.notify_all()
        for running in orphans:
            running.future.set_exception(EngineDied("the engine was closed"))
        self._loop.join()

    @staticmethod
    def _check(request: SpeechRequest) -> None:
        if request.text_is_open and request.text_mode is not TextMode.PER_FRAME:
            raise RequestRejected("a text that is still being written is spoken in the text mode per_frame")
        if not request.text_is_open:
            _require_text(request.text)
        most_frames = MAX_TEXT_TOKENS if request.max_frames is None else request.max_frames
        checked_prefix(request.prefix, most_frames, NUM_CODEBOOKS, CODEBOOK_SIZE)
        if request.max_frames is not None and request.max_frames < 1:
            raise RequestRejected(f"max_frames should be at least 1, is {request.max_frames}")
        if request.language != "auto" and request.language not in LANGUAGES:
            raise RequestRejected(f"unknown language {request.language!r}")
        if isinstance(request.conditioning, BuiltInSpeaker) and request.conditioning.name not in SPEAKERS:
            raise RequestRejected(f"unknown speaker {request.conditioning.name!r}")

    def _drop(self, request_id: str) -> _Running | None:
        """The lock is held."""
        running = self._known.pop(request_id, None)
        if self._active.pop(request_id, None) is None:
            for queue in (self._waiting_live, self._waiting):
                queue.take(lambda waiting: waiting is running)
        return running

    def _enqueue(self, running: _Running) -> None:
        request_id = running.request.request_id
        if self._closed:
            raise EngineDied("the engine is closed")
        if request_id in self._known:
            raise RequestRejected(f"request {request_id!r} is already in flight")
        self._known[request_id] = running
        request = running.request
        waiting = self._waiting_live if request.urgency is Urgency.LIVE else self._waiting
        waiting.add(running, request.urgency, is_opening=request.is_opening)
        self._wake.notify_all()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._closed or self._has_work)
                if self._closed:
                    return
                self._admit()
            time.sleep(self._settings.step_s)
            for running in self._step():
                self._tell(running)

    @property
    def _has_work(self) -> bool:
        return bool(self._next_waiting()) or any(not running.stands_still for running in self._active.values())

    def _next_waiting(self) -> AdmissionQueue[_Running] | None:
        """The queue whose first one may begin."""
        num_live = sum(running.request.urgency is Urgency.LIVE for running in self._active.values())
        if self._waiting_live and num_live < self._settings.live_slots:
            return self._waiting_live
        has_room = len(self._active) - num_live < self._settings.slots
        return self._waiting if self._waiting and has_room else None

    def _admit(self) -> None:
        while (waiting := self._next_waiting()) is not None:
            running = waiting.pop()
            running.admitted_s = time.monotonic()
            self._active[running.request.request_id] = running

    def _step(self) -> list[_Running]:
        """One frame for every active request; returns those with new frames; a complete one is no longer active."""
        with self._wake:
            texts = [running.text for running in self._active.values()]
        for text in texts:
            _obey_marker(text)  # without the lock: a hung loop still answers `stats`
        with self._wake:
            moving = [running for running in self._active.values() if not running.stands_still]
            for running in moving:
                running.frames_done += not running.is_complete
            speaking = [r for r in moving if r.is_complete or _is_chunk_due(r)]
            complete = [r for r in speaking if r.is_complete]
            self._steps += 1
            self._frames += len(moving)
            self._finished += len(complete)
            for running in complete:
                del self._active[running.request.request_id]
                del self._known[running.request.request_id]
        return speaking

    @staticmethod
    def _tell(running: _Running) -> None:
        """The loop's thread alone: the next chunk to who listens, and all of it once it is complete."""
        if running.on_audio is not None:
            start, end = running.frames_heard, running.frames_done
            running.frames_heard = end
            pcm, frames = running.said()
            if end > start:
                chunk = SpeechChunk(pcm[start * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME], frames[start:end])
                running.on_audio(chunk)
        if running.is_complete:
            running.future.set_result(_say(running))


def _require_text(text: str) -> None:
    if not text.strip():
        raise RequestRejected("there is no text to speak")
    if len(text) > MAX_TEXT_TOKENS:
        raise RequestRejected(f"the text has {len(text)} tokens; the engine takes {MAX_TEXT_TOKENS}")


def _complaint(running: _Running) -> RequestRejected | None:
    """What is wrong with a text that has grown."""
    try:
        if not running.is_open or len(running.text) > MAX_TEXT_TOKENS:
            _require_text(running.text)
    except RequestRejected as rejection:
        return rejection
    return None


def _is_chunk_due(running: _Running) -> bool:
    num_new = running.frames_done - running.frames_heard
    return running.on_audio is not None and num_new >= _CHUNKS.length_behind(running.frames_heard)


def _obey_marker(text: str) -> None:
    if POISON_MARKER in text:
        os._exit(POISON_EXIT_STATUS)
    if HANG_MARKER in text:
        threading.Event().wait()


def _say(running: _Running) -> Speech:
    pcm, frames = running.said()
    whole, start, end = running.num_frames == len(frames), running.num_prefix, running.num_frames
    return Speech(
        pcm=pcm[start * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME],
        frames=frames[start:end],
        sample_rate_hz=SAMPLE_RATE_HZ,
        finish_reason=FinishReason.EOS if whole else FinishReason.LENGTH,
        engine_s=time.monotonic() - running.admitted_s,
    )


def _embedding(digested: bytes) -> tuple[float, ...]:
    return tuple(byte / 256 for byte in hashlib.sha256(digested).digest()[:SPEAKER_DIM])


def describe_fake(settings: FakeEngineSettings) -> EngineInfo:
    """What it says of itself, but for how it was set up."""
    return EngineInfo(
        model="fake",
        revision="fake-1",
        task=ModelTask.CUSTOM_VOICE,
        speakers=SPEAKERS,
        languages=LANGUAGES,
        sample_rate_hz=SAMPLE_RATE_HZ,
        samples_per_frame=SAMPLES_PER_FRAME,
        num_codebooks=NUM_CODEBOOKS,
        codebook_size=CODEBOOK_SIZE,
        speaker_dim=SPEAKER_DIM,
        slots=settings.slots,
        live_slots=settings.live_slots,
        takes_open_text=True,
        max_text_tokens=MAX_TEXT_TOKENS,
        max_text_chars=MAX_TEXT_CHARS,
        text_front_end=TextFrontEnd.RAW,
        segmentation=SegmentStyle.PACKED,
        accepts_instructions=True,
        voice_modes=tuple(VoiceMode),
        speaker_embeddings=tuple(_embedding(name.encode()) for name in SPEAKERS),
        default_sampling=SamplingParams(),
        notice="This is the fake engine: tones instead of speech, for tests only.",
    )
