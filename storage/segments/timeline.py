"""Where each segment stands in a narration, in samples. Pure; what is assembled and what is played follow it alike.

A segment's samples begin and end with a margin of near silence (see `MARGIN_S`), in which soft consonants and breaths
are kept. Margins are part of the audible pause between two segments. So a pause of p seconds consists of both margins,
and p minus two margins of silence between them. The shortest pause is two margins.

A narration at another speed has all of this in the same proportion: segments, margins and pauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from reading.plan.plan import Chapter, PlanSegment
from rhapsode.contract.jobs.output import Files, Output
from storage.segments.results import LEFT_OUT, SegmentResult

MARGIN_S = 0.03
"""What stands before the first and after the last window of a segment that is loud enough to be speech."""


class SegmentsIncomplete(ValueError):
    """Plan and results do not belong together."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A segment's place: its samples are [start, start + num_samples), then come num_gap of silence.

    speed: how much faster it is than it was spoken, all in all. num_head: silence before it, if it is the first of a
    file.
    """

    planned: PlanSegment
    result: SegmentResult
    start: int
    num_gap: int
    speed: float = 1.0
    num_head: int = 0

    @property
    def num_samples(self) -> int:
        return num_stretched(self.result.num_samples, self.speed)

    @property
    def end(self) -> int:
        """Where the next one starts, or its head."""
        return self.start + self.num_samples + self.num_gap

    def at(self, spoken: float) -> float:
        """Where a sample of the segment as it was spoken is in the narration."""
        return self.start + spoken / self.speed


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a narration follows from what was spoken.

    head_s, tail_s: before the first and behind the last word of all, or of every chapter; 0 for none, and for the pause
    that is there.
    """

    speed: float = 1.0
    head_s: float = 0.0
    tail_s: float = 0.0
    is_by_chapter: bool = False

    @classmethod
    def of(cls, output: Output) -> Self:
        has_chapter_files = any(form.files is Files.CHAPTERS for form in output.formats)
        return cls(output.speed, output.head_s, output.tail_s, has_chapter_files)

    def speed_of(self, planned: PlanSegment) -> float:
        """The whole's, and its own."""
        return self.speed * planned.speed

    def divides(self, before: PlanSegment | None, behind: PlanSegment | None) -> bool:
        """Whether a file ends between the two; None is before the first and behind the last."""
        if before is None or behind is None:
            return True
        return self.is_by_chapter and before.chapter != behind.chapter


AS_SPOKEN = Pacing()


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of the narration in seconds from its beginning."""

    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class ChapterSpan:
    """A chapter ends where the next one starts, the last one with the narration."""

    title: str
    span: TimeSpan


def num_stretched(num_samples: int, speed: float) -> int:
    """What so many samples come to at this speed."""
    return num_samples if speed == 1 else round(num_samples / speed)


def num_gap_samples(pause_s: float, sample_rate_hz: int, speed: float = 1.0) -> int:
    """Silence between the samples of two segments for a pause of `pause_s` between what is spoken in them."""
    return num_stretched(max(0, round(pause_s * sample_rate_hz) - 2 * num_margin_samples(sample_rate_hz)), speed)


def pause_after_s(planned: PlanSegment, finish_reason: str) -> float:
    return 0.0 if finish_reason == LEFT_OUT else planned.pause_after_s


def num_margin_samples(sample_rate_hz: int) -> int:
    return round(MARGIN_S * sample_rate_hz)


def place_segments(
    segments: Sequence[PlanSegment], results: Sequence[SegmentResult], sample_rate_hz: int, pacing: Pacing = AS_SPOKEN
) -> tuple[Placed, ...]:
    """Every segment with its place. Raises `SegmentsIncomplete` unless there is a result for each, in order."""
    if [result.index for result in results] != [planned.index for planned in segments]:
        raise SegmentsIncomplete(f"{len(results)} segments are finished, but the plan has {len(segments)}")
    return tuple(places(segments, {result.index: result for result in results}, sample_rate_hz, pacing))


def places(
    segments: Sequence[PlanSegment],
    results: Mapping[int, SegmentResult],
    sample_rate_hz: int,
    pacing: Pacing = AS_SPOKEN,
) -> Iterator[Placed]:
    """Of the segments in order, up to the first that has no result."""
    head, tail = (_num_edge_samples(each, sample_rate_hz, pacing.speed) for each in (pacing.head_s, pacing.tail_s))
    end = 0
    for before, planned, behind in zip([None, *segments], segments, [*segments[1:], None], strict=False):
        result = results.get(planned.index)
        if result is None:
            return
        num_head = head if pacing.divides(before, planned) else 0
        gap = num_gap_samples(pause_after_s(planned, result.finish_reason), sample_rate_hz, pacing.speed)
        num_gap = tail if pacing.tail_s and pacing.divides(planned, behind) else gap
        placed = Placed(planned, result, end + num_head, num_gap, pacing.speed_of(planned), num_head)
        yield placed
        end = placed.end


def _num_edge_samples(seconds: float, sample_rate_hz: int, speed: float) -> int:
    """Silence that with a margin is so long."""
    return max(0, round(seconds * sample_rate_hz) - num_stretched(num_margin_samples(sample_rate_hz), speed))


def spoken_span(placed: Placed, sample_rate_hz: int) -> TimeSpan:
    """When the segment sounds, without its margins."""
    margin = min(num_stretched(num_margin_samples(sample_rate_hz), placed.speed), placed.num_samples // 2)
    first, end = placed.start + margin, placed.start + placed.num_samples - margin
    return TimeSpan(first / sample_rate_hz, end / sample_rate_hz)


def chapter_spans(
    chapters: Sequence[Chapter], placed: Sequence[Placed], sample_rate_hz: int
) -> tuple[ChapterSpan, ...]:
    """A chapter starts with its first segment's sound, and the first chapter with the narration: players show no
    gap.
    """
    if not chapters:
        return ()
    starts = [0.0, *(spoken_span(placed[each.first_segment], sample_rate_hz).start_s for each in chapters[1:])]
    ends = [*starts[1:], placed[-1].end / sample_rate_hz]
    return tuple(
        ChapterSpan(chapter.title, TimeSpan(start_s, end_s))
        for chapter, start_s, end_s in zip(chapters, starts, ends, strict=True)
    )
