"""What this process measures of live speech: see `metric_catalogue`."""

from __future__ import annotations

from api.live.stream import HeardStream
from storage.runtime.observability.metrics import counter, gauge, histogram

_STREAMS = gauge("rhapsode_live_streams")
_FIRST_AUDIO = histogram("rhapsode_live_first_audio_seconds")
_ENDED = counter("rhapsode_live_ended_streams")
_UNDERRUNS = counter("rhapsode_live_underruns")
_LOST = counter("rhapsode_live_lost_workers")


def opened() -> None:
    _STREAMS.inc()


def lost(reason: str) -> None:
    _LOST.labels(reason).inc()


def over(stream: HeardStream) -> None:
    _STREAMS.dec()
    _ENDED.labels(stream.outcome).inc()
    if stream.ttfa_s is not None:
        _FIRST_AUDIO.observe(stream.ttfa_s)
    if stream.heard is not None:
        _UNDERRUNS.inc(stream.heard.underruns)
