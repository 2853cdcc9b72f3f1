"""What this process measures of live speech: see `metric_catalogue`."""

from __future__ import annotations

from api.live.stream import HeardStream
from storage.runtime.observability.metrics import counter, gauge, histogram

_STREAMS = gauge("rhapsode_live_streams")
_FIRST_AUDIO = histogram("rhapsode_live_first_audio_seconds")
_ENDED = counter("rhapsode_live_ended_streams")
_UNDERRUNS = counter("rhapsode_live_underruns")
_AUDIO = counter("rhapsode_live_audio_seconds")
_LOST = counter("rhapsode_live_lost_workers")
_RESUMED = counter("rhapsode_live_resumed_streams")
_LATENESS = gauge("rhapsode_live_lateness_seconds")


def opened() -> None:
    _STREAMS.inc()


def lost(reason: str) -> None:
    _LOST.labels(reason).inc()


def resumed(reason: str) -> None:
    _RESUMED.labels(reason).inc()


def late(mean_s: float) -> None:
    _LATENESS.set(mean_s)


def over(stream: HeardStream) -> None:
    _STREAMS.dec()
    _ENDED.labels(stream.outcome).inc()
    if stream.ttfa_s is not None:
        _FIRST_AUDIO.observe(stream.ttfa_s)
    if stream.heard is not None:
        _AUDIO.inc(stream.heard.audio_s)
        _UNDERRUNS.inc(stream.heard.underruns)
