"""What requests come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.server.load import ClosedLoad, Load, MeasuredRequest, OpenLoad
from rhapsode.bench.server.orders import Language, TextLevel
from rhapsode.bench.server.report import StageReport, spread, summarize

HEARD = MeasuredRequest(
    number=0,
    level=TextLevel.SHORT,
    language=Language.ENGLISH,
    chars=30,
    due_s=2.0,
    is_counted=True,
    lag_s=0.1,
    connect_s=0.1,
    first_byte_s=0.2,
    playable_s=0.2,
    audible_s=0.3,
    total_s=1.0,
    audio_s=4.0,
    window_audio_s=3.0,
)
FAILED = replace(HEARD, error="503 full", total_s=None, audio_s=0.0, window_audio_s=0.0, audible_s=None)


def test_what_is_not_counted_adds_its_audio_alone() -> None:
    warm_up = replace(HEARD, due_s=0.5, is_counted=False, window_audio_s=1.0)

    summary = summarize([warm_up, HEARD, FAILED, FAILED], 1.0, 5.0, 0.08, 0.0)

    assert (summary.requests, summary.whole, summary.errors) == (3, 1, {"503 full": 2})
    assert summary.audio_s_per_s == 1.0
    assert summary.frames_per_s == 12.5
    assert summary.requests_per_s == 0.5, "the one of the warm-up ended within the window"
    assert summary.rtf is not None
    assert (summary.rtf.samples, summary.rtf.p50) == (1, 0.25)
    assert summary.first_byte is not None
    assert summary.first_byte.samples == 3


def test_of_nothing_there_is_nothing() -> None:
    summary = summarize([], 1.0, 5.0, None, 0.0)

    assert (summary.requests, summary.total, summary.frames_per_s, summary.audio_s_per_s) == (0, None, None, 0.0)


@settings(deadline=None, derandomize=True)
@given(values=st.lists(st.one_of(st.none(), st.floats(0, 1e3)), max_size=50))
def test_a_spread_is_in_order_and_of_what_is_known(values: list[float | None]) -> None:
    found = spread(values)

    known = [value for value in values if value is not None]
    if found is None:
        assert not known
        return
    assert found.samples == len(known)
    assert min(known) <= found.p50 <= found.p95 <= found.p99 <= found.most == max(known)
    assert found.mean == pytest.approx(sum(known) / len(known))


def test_streams_are_carried_if_every_one_was_whole_in_time_and_without_a_hole() -> None:
    def stage(load: Load, *outcomes: MeasuredRequest) -> StageReport:
        summary = summarize(outcomes, 1.0, 5.0, None, 0.2)
        return StageReport(load=load, begins_s=1.0, ends_s=5.0, stall_s=0.0, summary=summary, requests=[])

    def carried(*outcomes: MeasuredRequest) -> bool:
        return stage(ClosedLoad(1), *outcomes).is_carried

    assert carried(HEARD, HEARD)
    assert carried(replace(HEARD, gaps=1, buffer_s=0.2)), "the listener has so much buffer"
    assert not carried()
    assert not carried(HEARD, FAILED)
    assert not carried(HEARD, replace(HEARD, gaps=1, buffer_s=0.3))
    assert not carried(HEARD, replace(HEARD, total_s=4.1))
    assert not stage(OpenLoad(1.0), HEARD).is_carried
