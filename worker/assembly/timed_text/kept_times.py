"""The times of a narration's words until its texts are written, in four bytes a character: a book of a hundred hours
has half a million words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence, TimedWord
from worker.speech.alignment.aligner import Method, WordTime
from worker.speech.alignment.words import words_of


@dataclass(frozen=True, slots=True)
class _Packed:
    """seconds: from the segment's start, for each sentence its span, then the bounds of its words."""

    placed: Placed
    method: Method | None
    seconds: array[float]


class KeptTimes:
    """Segments in their order; each is computed at every read."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._rate_hz = sample_rate_hz
        self._kept: list[_Packed] = []

    def keep(self, placed: Placed, timed: TimedSegment) -> None:
        start_s, seconds = placed.start / self._rate_hz, array("f")
        for each in timed.sentences:
            bounds = (bound for word in each.words for bound in word.time.bounds)
            seconds.extend(at_s - start_s for at_s in (each.span.start_s, each.span.end_s, *bounds))
        self._kept.append(_Packed(placed, timed.method, seconds))

    def __iter__(self) -> Iterator[TimedSegment]:
        return (_unpacked(each, each.placed.start / self._rate_hz) for each in self._kept)


def _unpacked(packed: _Packed, start_s: float) -> TimedSegment:
    seconds = iter([start_s + each for each in packed.seconds])
    sentences: list[TimedSentence] = []
    for sentence in packed.placed.planned.sentences:
        span = TimeSpan(next(seconds), next(seconds))
        # Of a gap no word is kept.
        written = () if packed.method is None else words_of(sentence.written)
        words = [TimedWord(word, WordTime(tuple(next(seconds) for _ in range(len(word.text) + 1)))) for word in written]
        sentences.append(TimedSentence(sentence, span, tuple(words)))
    return TimedSegment(packed.method, tuple(sentences))
