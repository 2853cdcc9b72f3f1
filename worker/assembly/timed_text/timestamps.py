"""timestamps.json: the times of each segment, sentence, word or character, a segment a line. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rhapsode.contract.jobs.output import Timestamps
from storage.segments.timeline import TimeSpan, spoken_span
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.heard_marks import heard_marks
from worker.assembly.timed_text.source_places import SourcePlaces
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
        {"name": each.mark.name, "time_s": round(each.time_s, _DIGITS), "start": each.mark.position}
        for each in heard_marks(narration.plan.marks, timed, source)
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
