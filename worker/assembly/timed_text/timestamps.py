"""timestamps.json: the times of each segment, sentence, word or character, a segment a line, and of marks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reading.plan.sentences import PlanSentence
from reading.script.script import Mark
from rhapsode.contract.jobs.output import Timestamps
from storage.segments.timeline import TimeSpan, spoken_span
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence

TIMESTAMPS_FORMAT = 3

_DIGITS = 3
"""Of a second. Segments have six, since they are exact to the sample."""

WITH_WORDS = frozenset((Timestamps.SENTENCE, Timestamps.WORD, Timestamps.CHARACTER))
"""What takes an alignment."""

Row = dict[str, object]


def timestamps(
    level: Timestamps, narration: AssembledNarration, timed: Iterable[TimedSegment], source: str
) -> Iterator[bytes]:
    """timed: one for each segment; empty for `segment` without marks. source: the text that offsets refer to."""
    head = {"format": TIMESTAMPS_FORMAT, "level": level.value, "duration_s": round(narration.duration_s, 6)}
    yield (json.dumps(head)[:-1] + ', "segments": [').encode()
    separator = "\n"
    times = iter(timed)
    for placed in narration.placed:
        planned = placed.planned
        span = spoken_span(placed, narration.sample_rate_hz)
        row: Row = {
            "index": planned.index,
            **_times(span, 6),
            "start": planned.start,
            "end": planned.end,
            "text": planned.written,
        }
        if level in WITH_WORDS:
            row |= _inside(level, next(times), planned.written, source)
        yield (separator + json.dumps(row, ensure_ascii=False)).encode()
        separator = ",\n"
    marks = [
        {"name": mark.name, "time_s": round(time_s, _DIGITS), "start": mark.position}
        for mark, time_s in heard_marks(narration.plan.marks, timed, source)
    ]
    yield f'\n], "marks": {json.dumps(marks, ensure_ascii=False)}}}\n'.encode()


def _inside(level: Timestamps, timed: TimedSegment, written: str, source: str) -> Row:
    row: Row = {"method": timed.method}
    row["sentences"] = [_sentence(level, each, source) for each in timed.sentences]
    if level is Timestamps.CHARACTER:
        row["alignment"] = _characters(timed, written)
    return row


def _sentence(level: Timestamps, timed: TimedSentence, source: str) -> Row:
    sentence = timed.sentence
    row: Row = {**_times(timed.span, _DIGITS), "start": sentence.start, "end": sentence.end, "text": sentence.written}
    if level is not Timestamps.SENTENCE:
        row["words"] = list(_words(timed, source))
    return row


def _words(timed: TimedSentence, source: str) -> Iterator[Row]:
    """Offsets are null for a word that an edit put there, or that stands otherwise in the source."""
    places = SourcePlaces(timed.sentence, source)
    for each in timed.words:
        start = places.find(each.word.text)
        end = None if start is None else start + len(each.word.text)
        span = TimeSpan(each.time.start_s, each.time.end_s)
        yield {"text": each.word.text, **_times(span, _DIGITS), "start": start, "end": end}


def _characters(timed: TimedSegment, written: str) -> Row:
    """Three arrays as hosted vendors give them; marks and spaces share the time between the words around them."""
    bounds = _bounds(timed, written)
    return {
        "characters": list(written),
        "character_start_times_seconds": [round(bound, _DIGITS) for bound in bounds[:-1]],
        "character_end_times_seconds": [round(bound, _DIGITS) for bound in bounds[1:]],
    }


def _bounds(timed: TimedSegment, written: str) -> list[float]:
    """When each character begins, and at last when the last one ends."""
    first_s = timed.sentences[0].span.start_s
    bounds = [first_s]
    at = 0
    for sentence in timed.sentences:
        at = max(at, written.find(sentence.sentence.written, at))
        for each in sentence.words:
            bounds += _between(bounds[-1], each.time.start_s, at + each.word.start + 1 - len(bounds))
            bounds[-1] = each.time.start_s
            bounds += each.time.bounds[1:]
        at += len(sentence.sentence.written)
    last_s = max(bounds[-1], timed.sentences[-1].span.end_s)
    return bounds + _between(bounds[-1], last_s, len(written) + 1 - len(bounds))


def _between(start_s: float, end_s: float, number: int) -> list[float]:
    """So many bounds after the first, the last at the end."""
    return [start_s + (end_s - start_s) * place / number for place in range(1, number + 1)]


def _times(span: TimeSpan, digits: int) -> Row:
    return {"start_s": round(span.start_s, digits), "end_s": round(span.end_s, digits)}


class SourcePlaces:
    """Where the words of a sentence stand in the text that offsets refer to. Asked for word by word, in their order."""

    def __init__(self, sentence: PlanSentence, source: str) -> None:
        self._stretch = source[sentence.start : sentence.end]
        self._start = sentence.start
        self._at = 0

    def find(self, word: str) -> int | None:
        """None of a word that an edit put there, or that stands otherwise in the source."""
        found = self._stretch.find(word, self._at)
        if found < 0:
            return None
        self._at = found + len(word)
        return self._start + found


@dataclass(frozen=True, slots=True)
class _Said:
    """Something that begins at a place of the source."""

    start: int
    span: TimeSpan


def heard_marks(marks: Sequence[Mark], timed: Iterable[TimedSegment], source: str) -> Iterator[tuple[Mark, float]]:
    """A script's marks in their order, each with its time in seconds.

    timed: of all segments. source: the text that positions refer to.
    """
    said = _said(timed, source)
    last_s, coming = 0.0, next(said, None)
    for mark in marks:
        while coming is not None and coming.start < mark.position:
            last_s, coming = coming.span.end_s, next(said, None)
        yield mark, last_s if mark.is_end or coming is None else coming.span.start_s


def _said(timed: Iterable[TimedSegment], source: str) -> Iterator[_Said]:
    for segment in timed:
        for sentence in segment.sentences:
            yield from _said_words(sentence, source) or [_Said(sentence.sentence.start, sentence.span)]


def _said_words(timed: TimedSentence, source: str) -> list[_Said]:
    """Without those that an edit put there; none of a gap."""
    places = SourcePlaces(timed.sentence, source)
    found = ((places.find(each.word.text), each.time) for each in timed.words)
    return [_Said(start, TimeSpan(time.start_s, time.end_s)) for start, time in found if start is not None]
