"""What a worker measures of the live streams that it speaks: see `metric_catalogue`."""

from __future__ import annotations

from storage.live.heard import HeardClock
from storage.runtime.observability.metrics import counter, histogram

_FIRST_AUDIO = histogram("rhapsode_live_worker_first_audio_seconds")
_FRAME = histogram("rhapsode_live_worker_frame_seconds")
_STREAMS = counter("rhapsode_live_worker_streams")
_UNDERRUNS = counter("rhapsode_live_worker_underruns")


class StreamMeter:
    """Of one stream, from its order to its end here."""

    def __init__(self, sample_rate_hz: int, now_s: float, *, is_resumed: bool) -> None:
        self.outcome = "cancelled"
        """Unless it is said otherwise."""
        self._heard = HeardClock(sample_rate_hz)
        self._ordered_s = now_s
        self._start = "resumed" if is_resumed else "begun"
        self._chunk_s: float | None = None

    def made(self, num_frames: int, now_s: float, *, may_wait: bool) -> None:
        """A chunk of the engine's. may_wait: for text, which is no step of the engine's."""
        if self._chunk_s is not None and num_frames and not may_wait:
            _FRAME.observe((now_s - self._chunk_s) / num_frames)
        self._chunk_s = now_s

    def paused(self) -> None:
        """Another segment is to be asked for: what lies between is no step of the engine's."""
        self._chunk_s = None

    def sent(self, num_samples: int, now_s: float, *, may_wait: bool) -> None:
        if not num_samples:
            return
        if not self._heard.has_begun:
            _FIRST_AUDIO.labels(self._start).observe(now_s - self._ordered_s)
        self._heard.add(num_samples, now_s, may_wait=may_wait)

    def over(self) -> None:
        _STREAMS.labels(self.outcome).inc()
        _UNDERRUNS.inc(self._heard.underruns)
