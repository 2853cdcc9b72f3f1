"""The times of each segment's sentences and words, found in its samples in one pass.

Only assembly has all of a job's speech, from whichever job, take or edit. So segments store no times, and speech from
before times were requested has them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from reading.estimates import speech_units
from reading.plan.sentences import PlanSentence
from storage.segments.results import SILENCED
from storage.segments.timeline import Placed, TimeSpan, spoken_span
from worker.speech.alignment.aligner import Method, WordAligner, WordTime
from worker.speech.alignment.words import AlignedWord, said_in_english, words_of
from worker.speech.alignment.written import written_times
from worker.speech.audio.samples import Samples

_TRIED = frozenset(("english", "auto", ""))
"""Languages as models name them; speech of an unnamed one is tried, and times are estimated where that does not fit."""


@dataclass(frozen=True, slots=True)
class TimedWord:
    """word: in its sentence as it is written. time: in seconds of the narration."""

    word: AlignedWord
    time: WordTime


@dataclass(frozen=True, slots=True)
class TimedSentence:
    sentence: PlanSentence
    span: TimeSpan
    words: tuple[TimedWord, ...]


@dataclass(frozen=True, slots=True)
class TimedSegment:
    """method: None where nothing was spoken; the sentences then share the segment's silence."""

    method: Method | None
    sentences: tuple[TimedSentence, ...]


class WordClock:
    """language: the job's. Not thread-safe."""

    def __init__(self, language: str, sample_rate_hz: int) -> None:
        self._language = language
        self._rate_hz = sample_rate_hz
        self._aligner = WordAligner()

    def times(self, placed: Placed, samples: Samples) -> TimedSegment:
        """samples: of the segment as it was spoken, at its own pace."""
        planned = placed.planned
        if SILENCED in placed.result.flags:
            return TimedSegment(None, shared(planned.sentences, spoken_span(placed, self._rate_hz)))
        english = (planned.language or self._language).casefold() in _TRIED
        spoken = [said_in_english(each.spoken) if english else each.spoken for each in planned.sentences]
        said = [list(words_of(text)) for text in spoken]
        words = [word.text for row in said for word in row]
        found = self._aligner.align(samples, self._rate_hz, words, english=english)
        times = iter([_placed(each, placed, self._rate_hz) for each in found.words])
        rows = [[next(times) for _ in row] for row in said]
        sentences = tuple(_sentences(planned.sentences, said, rows, spoken_span(placed, self._rate_hz)))
        return TimedSegment(found.method, sentences)


def shared(sentences: Sequence[PlanSentence], whole: TimeSpan) -> tuple[TimedSentence, ...]:
    """Without times of words: each has of the whole by what there is to say in it."""
    ends = list(accumulate(speech_units(each.spoken) for each in sentences))
    bounds = [whole.start_s + whole.duration_s * end / max(1, ends[-1]) for end in (0, *ends)]
    return tuple(
        TimedSentence(each, TimeSpan(start_s, end_s), ())
        for each, (start_s, end_s) in zip(sentences, pairwise(bounds), strict=True)
    )


def _placed(time: WordTime, placed: Placed, rate_hz: int) -> WordTime:
    """In the narration, of a time in the segment as it was spoken."""
    return WordTime(tuple(placed.at(bound * rate_hz) / rate_hz for bound in time.bounds))


def _sentences(
    sentences: Sequence[PlanSentence],
    said: Sequence[Sequence[AlignedWord]],
    times: Sequence[Sequence[WordTime]],
    whole: TimeSpan,
) -> Iterator[TimedSentence]:
    """A sentence without words, such as three stars, lasts no time; a segment of such ones has its whole time."""
    now_s = whole.start_s
    is_wordless = not any(times)
    for sentence, row, heard in zip(sentences, said, times, strict=True):
        written = list(words_of(sentence.written))
        words = [TimedWord(*pair) for pair in zip(written, written_times(written, row, heard), strict=True)]
        span = (
            TimeSpan(heard[0].start_s, heard[-1].end_s) if heard else whole if is_wordless else TimeSpan(now_s, now_s)
        )
        now_s = span.end_s
        yield TimedSentence(sentence, span, tuple(words))
