"""The sentences of a narration, as people read them, with the times of their words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storage.narration.estimates import speech_units
from storage.segments.sentences import Sentence
from storage.segments.timeline import Placed, Span, spoken_span
from worker.assembly.cues import Cue, HeardSentence, cues
from worker.assembly.heard_words import Heard, heard_words
from worker.assembly.narration import Narration


def narration_cues(narration: Narration) -> Iterator[Cue]:
    """Speakers are named where more than one is heard."""
    speakers = {each.planned.speaker for each in narration.placed}
    sentences = heard_sentences(narration.placed, narration.sample_rate_hz, narration.language)
    return cues(sentences, names_speakers=len(speakers) > 1)


def heard_sentences(placed: Sequence[Placed], sample_rate_hz: int, language: str) -> Iterator[HeardSentence]:
    """language: the job's, of those that have none of their own."""
    for each in placed:
        sentences = [sentence for sentence in each.planned.sentences if sentence.written]
        for number, (sentence, span) in enumerate(_timed(sentences, each, sample_rate_hz)):
            is_last = number == len(sentences) - 1
            words = heard_words(sentence.written, [Heard(0, len(sentence.written), span)])
            pause_s = each.planned.pause_after_s if is_last else 0.0
            said_in = (each.planned.language or language).casefold()
            yield HeardSentence(words, each.planned.speaker, said_in, pause_s)


def _timed(sentences: Sequence[Sentence], placed: Placed, sample_rate_hz: int) -> Iterator[tuple[Sentence, Span]]:
    """Sentences of one segment share its time by what there is to say in each."""
    span = spoken_span(placed, sample_rate_hz)
    units = [speech_units(sentence.spoken) for sentence in sentences]
    said = 0
    for sentence, length in zip(sentences, units, strict=True):
        start_s = span.start_s + span.duration_s * said / max(1, sum(units))
        said += length
        yield sentence, Span(start_s, span.start_s + span.duration_s * said / max(1, sum(units)))
