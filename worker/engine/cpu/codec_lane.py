"""The codec lane of a CPU: one utterance at a time on each of a few threads, pass by pass."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from worker.engine.cpu.giving_way import GivingWay
from worker.engine.interface import CodecFrames, Pcm, SpeechChunk, Urgency
from worker.engine.model.codec_layers import StreamState
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import AdmissionQueue
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.codec_lane import CodecClient, EndedFrames, LaneCounters
from worker.engine.serving.talker_lane import SpeechPart
from worker.engine.stages.codec import CodecStage, DecodeStream

# An utterance is decoded in small passes that do not fill a second core, so two at a time.
_NUM_THREADS = 2

_LOOK_S = 0.02
"""Between looks for whether live speech that runs short stands still."""


@dataclass(slots=True, eq=False)
class _Job:
    """Frames (T, Q) of one request from its prefix on, as many as are known. `utterance`: set once it has ended.

    is_busy: it waits for a thread or is with one, and may not be handed to another.
    """

    request: RequestState
    frames: CodecFrames
    utterance: EndedFrames | None = None
    stream: DecodeStream | None = None
    num_decoded: int = 0
    parts: list[Pcm] = field(default_factory=list)
    is_busy: bool = False
    is_dropped: bool = False


class ThreadedCodecLane:
    """References are decoded once and then kept.

    An utterance is divided into equal passes whether it is decoded while it is made or at its end. Rounding depends on
    the length of a pass, so the samples are equal bit by bit. A prefix is decoded first, with the division of its first
    decoding.
    """

    def __init__(self, codec: CodecStage, passes: ChunkPlan) -> None:
        self._codec = codec
        self._passes = passes
        self._references = WarmReferences(codec)
        self._changed = threading.Condition()
        self._due: AdmissionQueue[_Job] = AdmissionQueue()
        self._giving_way = GivingWay()
        self._live: set[RequestState] = set()
        self._closed = False
        self._threads: tuple[threading.Thread, ...] = ()
        # Of the putting thread alone.
        self._streamed: dict[RequestState, _Job] = {}

    def start(self, client: CodecClient) -> None:
        run = partial(self._run, client)
        self._threads = tuple(
            threading.Thread(target=client.run_guarded, args=(run,), name=f"codec-lane-{n}", daemon=True)
            for n in range(_NUM_THREADS)
        )
        for thread in self._threads:
            thread.start()

    def put_part(self, part: SpeechPart) -> None:
        job = self._streamed.get(part.request)
        if job is None:
            job = self._streamed[part.request] = _Job(part.request, _prefix(part.request, part.frames))
        with self._changed:
            self._live.add(part.request)
            job.frames = np.concatenate((job.frames, part.frames))
            self._line_up(job)

    def put(self, utterance: EndedFrames) -> None:
        job = self._streamed.pop(utterance.request, None) or _Job(utterance.request, utterance.frames)
        with self._changed:
            job.frames = np.concatenate((_prefix(utterance.request, utterance.frames), utterance.frames))
            job.utterance = utterance
            self._line_up(job)

    def drop(self, request: RequestState) -> None:
        job = self._streamed.pop(request, None)
        if job is not None:
            with self._changed:
                job.is_dropped = True
                self._live.discard(request)

    @property
    def counters(self) -> LaneCounters:
        """There is no plan of graphs here."""
        return LaneCounters()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _line_up(self, job: _Job) -> None:
        """To the end of its line, if there is something to do for it. The lock is held."""
        if not job.is_busy and self._is_due(job):
            job.is_busy = True
            self._due.add(job, job.request.urgency, is_opening=job.request.is_opening)
            self._changed.notify()

    def _is_due(self, job: _Job) -> bool:
        num_waiting = len(job.frames) - job.num_decoded
        return job.utterance is not None or num_waiting >= self._passes.length_behind(job.num_decoded)

    def _run(self, client: CodecClient) -> None:
        while (job := self._take()) is not None:
            if job.is_dropped or not client.is_wanted(job.request):
                continue
            self._decode_next(job, client)
            self._give_back(job, client)

    def _take(self) -> _Job | None:
        """None: the lane is closed."""
        with self._changed:
            while not self._closed:
                if not self._due:
                    self._changed.wait()
                elif self._waits_for_live():
                    self._changed.wait(_LOOK_S)
                else:
                    return self._due.pop()
            return None

    def _waits_for_live(self) -> bool:
        """Whether what is next gives way. The lock is held."""
        is_live = self._due.peek().request.urgency is Urgency.LIVE
        return not is_live and self._giving_way.holds(self._live, time.monotonic())

    def _decode_next(self, job: _Job, client: CodecClient) -> None:
        start = job.num_decoded
        frames = job.frames[start : start + self._passes.length_behind(start)]
        if not len(frames):
            return
        if job.stream is None:
            job.stream = self._open_stream(job.request)
        pcm = job.stream.push(frames)
        job.num_decoded += len(frames)
        num_heard = min(len(frames), max(0, job.request.num_prefix - start))
        new = frames[num_heard:]
        if not len(new):
            return
        pcm = pcm[num_heard * len(pcm) // len(frames) :]
        job.parts.append(pcm)
        if job.request.is_streamed:
            client.deliver_part(job.request, SpeechChunk(pcm, new))
            heard_s = len(pcm) / self._codec.config.sample_rate_hz
            job.request.heard_until_s = max(job.request.heard_until_s, time.monotonic()) + heard_s

    def _give_back(self, job: _Job, client: CodecClient) -> None:
        """Deliver it if it is complete; else its next pass is due at once, later, or never."""
        with self._changed:
            utterance = job.utterance
            if utterance is None or job.num_decoded < len(job.frames):
                job.is_busy = self._is_due(job)
                if job.is_busy:
                    self._due.put_back(job, job.request.urgency, is_opening=job.request.is_opening)
                    self._changed.notify()
                return
            self._live.discard(job.request)
        client.deliver(utterance, np.concatenate(job.parts) if job.parts else np.zeros(0, dtype=np.float32))

    def _open_stream(self, request: RequestState) -> DecodeStream:
        placed = request.prompt.reference
        return self._codec.open_stream() if placed is None else self._references.stream_after(placed.codes)


def _prefix(request: RequestState, frames: CodecFrames) -> CodecFrames:
    """What is decoded before `frames` for its state alone; of their type and width."""
    return frames[:0] if request.prefix is None else request.prefix.astype(frames.dtype)


MAX_BYTES = 128 << 20
"""A state of the published speech tokenizer takes about 5 MB: some 25 voices that are spoken with at the same time."""


class WarmReferences:
    """Least recently used states up to `max_bytes`; the newest stays in any case. Thread-safe.

    Decoding a recording for every segment costs as much as the segment. A stream never writes into its state.

    Two threads that meet a new reference at the same moment both decode it; the states are equal, bit by bit.
    """

    def __init__(self, codec: CodecStage, max_bytes: int = MAX_BYTES) -> None:
        self._codec = codec
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._states: OrderedDict[bytes, StreamState] = OrderedDict()
        self._bytes = 0

    def stream_after(self, reference: CodecFrames) -> DecodeStream:
        """A new stream that has decoded the reference (R, Q)."""
        key = _key(reference)
        state = self._find(key)
        if state is None:
            stream = self._codec.open_stream()
            stream.push(reference)
            state = stream.state
            self._keep(key, state)
        return self._codec.stream_from(state)

    def _find(self, key: bytes) -> StreamState | None:
        with self._lock:
            state = self._states.get(key)
            if state is not None:
                self._states.move_to_end(key)
            return state

    def _keep(self, key: bytes, state: StreamState) -> None:
        with self._lock:
            if key in self._states:
                return
            self._states[key] = state
            self._bytes += _size(state)
            while self._bytes > self._max_bytes and len(self._states) > 1:
                _, dropped = self._states.popitem(last=False)
                self._bytes -= _size(dropped)


def _key(reference: CodecFrames) -> bytes:
    return hashlib.sha256(repr(reference.shape).encode() + reference.astype("<i2").tobytes()).digest()


def _size(state: StreamState) -> int:
    return sum(slot.nbytes for slot in state.slots)
