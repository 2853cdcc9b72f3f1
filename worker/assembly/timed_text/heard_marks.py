"""The times of a script's marks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reading.script.script import Mark
from storage.segments.timeline import TimeSpan
from worker.assembly.timed_text.source_places import SourcePlaces
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence


@dataclass(frozen=True, slots=True)
class HeardMark:
    mark: Mark
    time_s: float


@dataclass(frozen=True, slots=True)
class _Said:
    """Something that begins at a place of the source."""

    start: int
    span: TimeSpan


def heard_marks(marks: Sequence[Mark], timed: Iterable[TimedSegment], source: str) -> Iterator[HeardMark]:
    """In their order. timed: of all segments. source: the text that positions refer to."""
    said = _said(timed, source)
    last_s, coming = 0.0, next(said, None)
    for mark in marks:
        while coming is not None and coming.start < mark.position:
            last_s, coming = coming.span.end_s, next(said, None)
        is_behind = mark.is_end or coming is None
        yield HeardMark(mark, last_s if is_behind or coming is None else coming.span.start_s)


def _said(timed: Iterable[TimedSegment], source: str) -> Iterator[_Said]:
    for segment in timed:
        for sentence in segment.sentences:
            yield from _words(sentence, source) or [_Said(sentence.sentence.start, sentence.span)]


def _words(timed: TimedSentence, source: str) -> list[_Said]:
    """Without those that an edit put there; none of a gap."""
    places = SourcePlaces(timed.sentence, source)
    found = ((places.find(each.word.text), each.time) for each in timed.words)
    return [_Said(start, TimeSpan(time.start_s, time.end_s)) for start, time in found if start is not None]
