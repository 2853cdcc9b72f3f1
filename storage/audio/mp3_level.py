"""LAME makes everything quieter than it came, at most bitrates by 0.45 dB, and FFmpeg has no switch for that. So
samples reach it louder by as much, in floating point, where nothing is clipped on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

import av
from av.error import BlockingIOError as NothingYet
from av.error import EOFError as NoMore
from av.filter import Graph

_QUIETER_BELOW_KBPS = ((192, 0.95), (224, 0.97), (256, 0.98))
"""LAME's own table: up to a bitrate, and by what samples are multiplied. The same in stereo and at every rate."""


def lame_scale(bitrate_kbps: int) -> float:
    """LAME's default scale of samples at this bitrate."""
    return next((scale for below, scale in _QUIETER_BELOW_KBPS if bitrate_kbps < below), 1.0)


class Gain:
    """Frames of 16-bit mono in, frames of floating point out, each sample multiplied; as many as go in."""

    def __init__(self, factor: float, sample_rate_hz: int) -> None:
        graph = Graph()
        source = graph.add_abuffer(sample_rate=sample_rate_hz, format="s16", layout="mono")
        volume = graph.add("volume", f"volume={factor:.9f}:precision=float")
        form = graph.add("aformat", "sample_fmts=fltp")
        sink = graph.add("abuffersink")
        for one, other in ((source, volume), (volume, form), (form, sink)):
            one.link_to(other)
        graph.configure()
        self._graph = graph

    def frames(self, frame: av.AudioFrame | None) -> Iterator[av.AudioFrame]:
        """None: that was the last one."""
        self._graph.push(frame)
        while True:
            try:
                made = self._graph.pull()
            except (NothingYet, NoMore):
                return
            if isinstance(made, av.AudioFrame):
                yield made
