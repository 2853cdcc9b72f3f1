"""The sentences of a narration, as people read them, with the times of their words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.cues import Cue, HeardSentence, cues
from worker.assembly.timed_text.heard_words import TimedStretch, heard_words
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence

_DASHES = "-–—"


def narration_cues(narration: AssembledNarration, timed: Iterable[TimedSegment]) -> Iterator[Cue]:
    """Speakers are named where more than one is heard."""
    speakers = {each.planned.speaker for each in narration.placed}
    sentences = heard_sentences(narration.placed, timed, narration.language)
    return cues(sentences, names_speakers=len(speakers) > 1)


def heard_sentences(placed: Sequence[Placed], timed: Iterable[TimedSegment], language: str) -> Iterator[HeardSentence]:
    """timed: one for each that is placed. language: the job's, of those that have none of their own."""
    for each, times in zip(placed, timed, strict=True):
        sentences = [sentence for sentence in times.sentences if sentence.sentence.written]
        for number, sentence in enumerate(sentences):
            is_last = number == len(sentences) - 1
            words = heard_words(sentence.sentence.written, _heard(sentence))
            pause_s = each.planned.pause_after_s if is_last else 0.0
            said_in = (each.planned.language or language).casefold()
            yield HeardSentence(words, each.planned.speaker, said_in, pause_s)


def _heard(timed: TimedSentence) -> list[TimedStretch]:
    """Its words, or the whole of it if it has none. A quotation mark or bracket is shown with the word behind it."""
    text = timed.sentence.written
    if not timed.words:
        return [TimedStretch(0, len(text), timed.span)]
    found: list[TimedStretch] = []
    end = 0
    for each in timed.words:
        start = each.word.start
        while start > end and not text[start - 1].isspace() and text[start - 1] not in _DASHES:
            start -= 1
        end = each.word.end
        found.append(TimedStretch(start, end, TimeSpan(each.time.start_s, each.time.end_s)))
    return found
