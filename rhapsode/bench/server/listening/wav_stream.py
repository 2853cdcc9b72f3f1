"""A WAV as it comes: the samples behind its header, in whatever pieces. Pure."""

from __future__ import annotations

import struct

from rhapsode.bench.server.wire.errors import NotHeard

_HEAD = struct.Struct("<4sI4s")
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")
_MOST_CHUNK_BYTES = 1 << 16
"""Of what stands before the samples."""
_PCM, _EXTENSIBLE = 1, 0xFFFE


class WavStream:
    """sample_rate_hz: None until the header has come. A length that a stream cannot know is not looked at."""

    def __init__(self) -> None:
        self.sample_rate_hz: int | None = None
        self._head = bytearray()
        self._is_open = False
        self._is_riff = False

    def take(self, data: bytes) -> bytes:
        """The samples among it. Raises NotHeard for what is no WAV of 16-bit samples of one channel."""
        if self._is_open:
            return data
        self._head += data
        if not self._is_riff:
            if len(self._head) < _HEAD.size:
                return b""
            self._begin()
        while len(self._head) >= _CHUNK.size:
            kind, size = _CHUNK.unpack_from(self._head)
            if kind == b"data":
                return self._open()
            if size > _MOST_CHUNK_BYTES:
                raise NotHeard(f"a chunk of {size} bytes stands before the samples of the WAV")
            end = _CHUNK.size + size + size % 2
            if len(self._head) < end:
                return b""
            if kind == b"fmt ":
                self._read_format(bytes(self._head[_CHUNK.size : end]))
            del self._head[:end]
        return b""

    def _begin(self) -> None:
        riff, _, kind = _HEAD.unpack_from(self._head)
        if (riff, kind) != (b"RIFF", b"WAVE"):
            raise NotHeard("the answer is no WAV")
        self._is_riff = True
        del self._head[: _HEAD.size]

    def _read_format(self, chunk: bytes) -> None:
        if len(chunk) < _FORMAT.size:
            raise NotHeard("the WAV does not say what its samples are")
        code, channels, rate_hz, _, _, bits = _FORMAT.unpack_from(chunk)
        if code not in (_PCM, _EXTENSIBLE) or (channels, bits) != (1, 16) or not rate_hz:
            raise NotHeard(f"the WAV has {channels} channels of {bits} bits, not one of 16")
        self.sample_rate_hz = rate_hz

    def _open(self) -> bytes:
        if self.sample_rate_hz is None:
            raise NotHeard("the WAV does not say what its samples are")
        self._is_open = True
        samples = bytes(self._head[_CHUNK.size :])
        self._head.clear()
        return samples
