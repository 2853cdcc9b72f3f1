"""Codec streams that have already decoded a reference: each utterance in an in-context voice continues the recording.

Decoding the recording for every segment would cost as much as the segment itself. What a codec keeps of it is a value
that a stream replaces and never writes into, so any number of utterances start from one.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from worker.engine.interface import CodecFrames
from worker.engine.model.codec_layers import StreamState
from worker.engine.stages.codec import CodecStage, DecodeStream

MAX_BYTES = 128 << 20
"""A state of the published speech tokenizer takes about 5 MB: some 25 voices that are spoken with at the same time."""


@dataclass(frozen=True, slots=True)
class WarmStats:
    hits: int
    misses: int
    bytes: int


class WarmReferences:
    """Least recently used states up to `max_bytes`; the newest stays in any case. Thread-safe.

    Two threads that meet a new reference at the same moment both decode it; the states are equal, bit by bit.
    """

    def __init__(self, codec: CodecStage, max_bytes: int = MAX_BYTES) -> None:
        self._codec = codec
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._states: OrderedDict[bytes, StreamState] = OrderedDict()
        self._bytes = 0
        self._hits = self._misses = 0

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

    def stats(self) -> WarmStats:
        with self._lock:
            return WarmStats(self._hits, self._misses, self._bytes)

    def _find(self, key: bytes) -> StreamState | None:
        with self._lock:
            state = self._states.get(key)
            if state is None:
                self._misses += 1
                return None
            self._hits += 1
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
