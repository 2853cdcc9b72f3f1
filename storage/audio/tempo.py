"""Speech that is faster or slower at the same pitch, by FFmpeg's `atempo` through PyAV. Pure; needs no numpy.

`atempo` swallows some of the end, and sets what it makes a little early where it slows down, by a part of its window
that `_offset_s` knows. So silence goes around the samples, and the stretch at their place is cut out. The number of
samples is exact. Each word is at its place within 3 ms at 24 kHz, and 8 ms at worst (16 kHz, hardly any faster).
"""

from __future__ import annotations

import math
from fractions import Fraction

import av
import av.filter
from av.audio.frame import AudioFrame
from av.error import EOFError as EndOfStream

from storage.audio.wav import BYTES_PER_SAMPLE
from storage.segments.timeline import num_stretched

SLOWEST, FASTEST = 0.5, 2.0
"""At once: `atempo` cannot be slower, and leaves samples out where it is faster."""

AROUND_S = 0.2
"""Silence on either side, as spoken."""

_EARLY, _EARLIER = 0.035, 0.192
"""Of a window, measured from half to full speed: how early what is slowed down comes (see `_offset_s`)."""

_WINDOWS_PER_S = 24
"""Of `atempo`, whose window is the next power of two."""


def stretched(pcm: bytes, sample_rate_hz: int, speed: float) -> bytes:
    """16-bit samples of speech at this speed, `num_stretched` of them; at 1, the same."""
    if speed == 1 or not pcm:
        return pcm
    if not SLOWEST <= speed <= FASTEST:
        half = math.sqrt(speed)
        made = stretched(stretched(pcm, sample_rate_hz, half), sample_rate_hz, speed / half)
        num_bytes = num_stretched(len(pcm) // BYTES_PER_SAMPLE, speed) * BYTES_PER_SAMPLE
        return made[:num_bytes].ljust(num_bytes, b"\0")
    whole = StretchedStream(sample_rate_hz, speed)
    return whole.add(pcm) + whole.finish()


class StretchedStream:
    """The same of samples that come piece by piece, from `SLOWEST` to `FASTEST`: all that is handed out is what
    `stretched` makes of all of them."""

    def __init__(self, sample_rate_hz: int, speed: float) -> None:
        self._speed = speed
        self._filter = _Atempo(sample_rate_hz, speed)
        self._around = bytes(round(AROUND_S * sample_rate_hz) * BYTES_PER_SAMPLE)
        offset_s = AROUND_S / speed + _offset_s(sample_rate_hz, speed)
        self._to_skip = round(offset_s * sample_rate_hz) * BYTES_PER_SAMPLE
        self._num_in = self._num_out = 0

    def add(self, pcm: bytes) -> bytes:
        """What there is by now; a part of a window less than should be, at first a fifth of a second."""
        if not pcm:
            return b""
        lead = b"" if self._num_in else self._around
        self._num_in += len(pcm) // BYTES_PER_SAMPLE
        return self._cut(self._filter.add(lead + pcm))

    def finish(self) -> bytes:
        if not self._num_in:
            return b""
        last = self._cut(self._filter.add(self._around) + self._filter.finish())
        return last.ljust(len(last) + self._due() - self._num_out, b"\0")

    def _due(self) -> int:
        return num_stretched(self._num_in, self._speed) * BYTES_PER_SAMPLE

    def _cut(self, made: bytes) -> bytes:
        """Without the silence before, and no more than what came is worth."""
        skipped = min(self._to_skip, len(made))
        self._to_skip -= skipped
        data = made[skipped : skipped + self._due() - self._num_out]
        self._num_out += len(data)
        return data


def _offset_s(sample_rate_hz: int, speed: float) -> float:
    """How much later than it should `atempo` has what is spoken."""
    if speed > 1:
        return 0.0
    window = 2 ** math.ceil(math.log2(sample_rate_hz / _WINDOWS_PER_S))
    return (_EARLY - _EARLIER / speed) * window / sample_rate_hz


class _Atempo:
    """The filter itself."""

    def __init__(self, sample_rate_hz: int, speed: float) -> None:
        self._rate = sample_rate_hz
        self._time_base = Fraction(1, sample_rate_hz)
        self._position = 0
        self._graph = av.filter.Graph()
        source = self._graph.add_abuffer(
            format="s16", sample_rate=sample_rate_hz, layout="mono", time_base=self._time_base
        )
        filter_ = self._graph.add("atempo", f"{speed:.9f}")
        self._graph.link_nodes(source, filter_, self._graph.add("abuffersink")).configure()

    def add(self, pcm: bytes) -> bytes:
        frame = AudioFrame(format="s16", layout="mono", samples=len(pcm) // BYTES_PER_SAMPLE)
        frame.planes[0].update(pcm)
        frame.sample_rate, frame.pts, frame.time_base = self._rate, self._position, self._time_base
        self._position += frame.samples
        self._graph.push(frame)
        return self._pulled()

    def finish(self) -> bytes:
        self._graph.push(None)
        return self._pulled()

    def _pulled(self) -> bytes:
        """Each frame's own samples: its planes are longer."""
        pieces: list[bytes] = []
        while True:
            try:
                frame = self._graph.pull()
            except (BlockingIOError, EndOfStream):
                return b"".join(pieces)
            if isinstance(frame, AudioFrame):
                pieces.append(bytes(frame.planes[0])[: frame.samples * BYTES_PER_SAMPLE])
