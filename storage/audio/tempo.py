"""Speech that is faster or slower at the same pitch, by FFmpeg's `atempo` through PyAV. Pure; needs no numpy.

`atempo` swallows some of the end, and sets what it makes a little early where it slows down, by a part of its window
that `_offset_s` knows. So silence goes around the samples, and what lies at their place is cut out: as many samples as
there have to be, and each word where it belongs: within 3 ms at 24 kHz, 8 at the worst (16 kHz, hardly any faster).
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
        return _of_length(made, pcm, speed)
    around = bytes(round(AROUND_S * sample_rate_hz) * BYTES_PER_SAMPLE)
    made = _through_atempo(around + pcm + around, sample_rate_hz, speed)
    first = round((AROUND_S / speed + _offset_s(sample_rate_hz, speed)) * sample_rate_hz) * BYTES_PER_SAMPLE
    return _of_length(made[first:], pcm, speed)


def _of_length(made: bytes, pcm: bytes, speed: float) -> bytes:
    num_bytes = num_stretched(len(pcm) // BYTES_PER_SAMPLE, speed) * BYTES_PER_SAMPLE
    return made[:num_bytes].ljust(num_bytes, b"\0")


def _offset_s(sample_rate_hz: int, speed: float) -> float:
    """How much later than it should `atempo` has what is spoken."""
    if speed > 1:
        return 0.0
    window = 2 ** math.ceil(math.log2(sample_rate_hz / _WINDOWS_PER_S))
    return (_EARLY - _EARLIER / speed) * window / sample_rate_hz


def _through_atempo(pcm: bytes, sample_rate_hz: int, speed: float) -> bytes:
    graph = av.filter.Graph()
    time_base = Fraction(1, sample_rate_hz)
    source = graph.add_abuffer(format="s16", sample_rate=sample_rate_hz, layout="mono", time_base=time_base)
    graph.link_nodes(source, graph.add("atempo", f"{speed:.9f}"), graph.add("abuffersink")).configure()
    frame = AudioFrame(format="s16", layout="mono", samples=len(pcm) // BYTES_PER_SAMPLE)
    frame.planes[0].update(pcm)
    frame.sample_rate, frame.pts, frame.time_base = sample_rate_hz, 0, time_base
    graph.push(frame)
    graph.push(None)
    return b"".join(_pulled(graph))


def _pulled(graph: av.filter.Graph) -> list[bytes]:
    """Each frame's own samples: its planes are longer."""
    pieces: list[bytes] = []
    while True:
        try:
            frame = graph.pull()
        except EndOfStream:
            return pieces
        if isinstance(frame, AudioFrame):
            pieces.append(bytes(frame.planes[0])[: frame.samples * BYTES_PER_SAMPLE])
