"""Segments, pauses and chapters have their places, to the sample."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.plan.plan import Chapter, PlanSegment
from storage.segments.results import SegmentResult
from storage.segments.timeline import (
    MARGIN_S,
    Pacing,
    SegmentsIncomplete,
    chapter_spans,
    num_gap_samples,
    num_margin_samples,
    num_stretched,
    place_segments,
    places,
    spoken_span,
)

RATE_HZ = 24_000


def planned(*pauses_s: float) -> list[PlanSegment]:
    return [PlanSegment(i, i, i + 1, "Text.", pause_s) for i, pause_s in enumerate(pauses_s)]


def results(*lengths: int) -> list[SegmentResult]:
    return [SegmentResult(i, 1, length, "ab" * 32) for i, length in enumerate(lengths)]


@given(
    st.lists(
        st.tuples(st.floats(0, 10), st.integers(2 * num_margin_samples(RATE_HZ), 500_000)), min_size=1, max_size=30
    )
)
def test_what_is_heard_is_apart_by_the_typed_pause(rows: list[tuple[float, int]]) -> None:
    placed = place_segments(planned(*(p for p, _ in rows)), results(*(n for _, n in rows)), RATE_HZ)

    spans = [spoken_span(each, RATE_HZ) for each in placed]
    for each, span, following in zip(placed, spans, spans[1:], strict=False):
        pause_s = following.start_s - span.end_s
        assert pause_s == pytest.approx(max(each.planned.pause_after_s, 2 * MARGIN_S), abs=1 / RATE_HZ)
        assert each.end == each.start + each.result.num_samples + each.num_gap


@given(
    st.floats(0.5, 2),
    st.lists(
        st.tuples(st.floats(0, 10), st.integers(2 * num_margin_samples(RATE_HZ), 500_000)), min_size=1, max_size=30
    ),
)
def test_at_another_speed_everything_keeps_its_proportion(speed: float, rows: list[tuple[float, int]]) -> None:
    segments, spoken = planned(*(p for p, _ in rows)), results(*(n for _, n in rows))
    natural = place_segments(segments, spoken, RATE_HZ)
    placed = place_segments(segments, spoken, RATE_HZ, Pacing(speed))

    for number, (before, each) in enumerate(zip(natural, placed, strict=True)):
        # Each length is rounded to a sample of its own.
        slack_s = (number + 2) / RATE_HZ
        heard, as_spoken = spoken_span(each, RATE_HZ), spoken_span(before, RATE_HZ)
        assert heard.start_s == pytest.approx(as_spoken.start_s / speed, abs=slack_s)
        assert heard.end_s == pytest.approx(as_spoken.end_s / speed, abs=slack_s)
        assert each.num_samples == num_stretched(each.result.num_samples, speed)
        assert each.end == each.start + each.num_samples + each.num_gap
        assert each.at(each.result.num_samples) == pytest.approx(each.start + each.num_samples, abs=1)
    assert list(places(segments, {0: spoken[0]}, RATE_HZ, Pacing(speed))) == [placed[0]]


@pytest.mark.parametrize("speed", [0.5, 1.0, 1.5])
def test_a_file_has_its_head_and_tail_whatever_the_speed(speed: float) -> None:
    segments = [replace(each, chapter=each.index // 2) for each in planned(1.0, 2.0, 1.0, 0.5)]
    spoken = results(24_000, 24_000, 24_000, 24_000)

    whole = place_segments(segments, spoken, RATE_HZ, Pacing(speed, 0.75, 2.5))
    chapters = place_segments(segments, spoken, RATE_HZ, Pacing(speed, 0.75, 2.5, is_by_chapter=True))

    for placed, files in ((whole, [(0, 3)]), (chapters, [(0, 1), (2, 3)])):
        for first, last in files:
            begin_s = (placed[first].start - placed[first].num_head) / RATE_HZ
            assert spoken_span(placed[first], RATE_HZ).start_s - begin_s == pytest.approx(0.75)
            assert placed[last].end / RATE_HZ - spoken_span(placed[last], RATE_HZ).end_s == pytest.approx(2.5)
        inner = spoken_span(placed[1], RATE_HZ).start_s - spoken_span(placed[0], RATE_HZ).end_s
        assert inner == pytest.approx(1.0 / speed, abs=2 / RATE_HZ)
    assert [each.num_head > 0 for each in whole] == [True, False, False, False]
    assert [each.num_head > 0 for each in chapters] == [True, False, True, False]


def test_a_gap_and_two_margins_are_a_pause() -> None:
    assert num_gap_samples(0.25, RATE_HZ) + 2 * num_margin_samples(RATE_HZ) == 6_000
    assert num_gap_samples(0.0, RATE_HZ) == num_gap_samples(0.06, RATE_HZ) == 0


def test_chapters_follow_each_other_from_the_beginning_to_the_end() -> None:
    placed = place_segments(planned(1.0, 1.0, 1.0, 0.0), results(24_000, 24_000, 24_000, 24_000), RATE_HZ)

    chapters = chapter_spans((Chapter("One", 1), Chapter("Two", 2)), placed, RATE_HZ)

    assert [chapter.title for chapter in chapters] == ["One", "Two"]
    assert chapters[0].span.start_s == 0
    assert chapters[0].span.end_s == chapters[1].span.start_s == spoken_span(placed[2], RATE_HZ).start_s
    assert chapters[1].span.end_s == placed[-1].end / RATE_HZ
    assert chapter_spans((), placed, RATE_HZ) == ()


@pytest.mark.parametrize("found", [results(1, 2), results(1, 2, 3)[1:], results(1, 2, 3, 4)])
def test_a_missing_or_surplus_result_is_refused(found: list[SegmentResult]) -> None:
    with pytest.raises(SegmentsIncomplete):
        place_segments(planned(0.0, 0.0, 0.0), found, RATE_HZ)
