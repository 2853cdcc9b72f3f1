from __future__ import annotations

from storage.runtime.observability.metrics import REGISTRY
from worker.live.measures import StreamMeter

RATE_HZ = 24_000


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"rhapsode_live_worker_{name}", labels) or 0.0


def test_a_stream_is_measured_from_its_order_to_its_end() -> None:
    first, frames, gaps, done = (
        value("first_audio_seconds_sum", start="begun"),
        value("frame_seconds_count"),
        value("underruns_total"),
        value("streams_total", outcome="done"),
    )
    meter = StreamMeter(RATE_HZ, 100.0, is_resumed=False)
    meter.made(1, 100.25, may_wait=False)
    meter.sent(0, 100.25, may_wait=False)
    meter.made(2, 100.5, may_wait=False)
    meter.sent(RATE_HZ // 10, 100.5, may_wait=False)
    # The text is late, then the engine.
    meter.made(1, 101.5, may_wait=True)
    meter.sent(RATE_HZ // 10, 101.5, may_wait=True)
    meter.made(1, 102.5, may_wait=False)
    meter.sent(RATE_HZ // 10, 102.5, may_wait=False)
    meter.outcome = "done"
    meter.over()

    assert value("first_audio_seconds_sum", start="begun") == first + 0.5
    assert value("frame_seconds_count") == frames + 2
    assert value("underruns_total") == gaps + 1
    assert value("streams_total", outcome="done") == done + 1


def test_one_that_nobody_ended_was_cancelled() -> None:
    cancelled = value("streams_total", outcome="cancelled")
    StreamMeter(RATE_HZ, 0.0, is_resumed=True).over()

    assert value("streams_total", outcome="cancelled") == cancelled + 1
