"""The `asr` quality gate: what a recogniser reads in the speech, against what the text says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from worker.engine.interface import Speech
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.recognisers.interface import Recogniser
from worker.speech.quality.words.missing_words import ENOUGH, MissingWord, missing_words
from worker.speech.quality.words.spelling import spoken_words
from worker.speech.quality.words.word_errors import WordErrors, align, counted, plain_words, word_errors

LEAST_RUN = 4
"""Words in a row that a recogniser may misread in any text: names and rare words come in twos and threes."""

RUN_SHARE = 0.12
"""Of a long text's words, what it may misread in a row: of 120 utterances of the small voice, at 7.5 % word errors,
Moonshine tiny read none beyond these two."""

_MOST_NAMED = 3


class RecogniserPool:
    """A recogniser for one kind of languages, shared by a worker's threads. Instances are made when they are needed.

    places: recognitions at the same time, each on a core and with an instance of its own.
    """

    def __init__(self, make: Callable[[], Recogniser], places: int = 1) -> None:
        self._make = make
        self._places = threading.BoundedSemaphore(places)
        self._idle: list[Recogniser] = []
        self._lock = threading.Lock()

    def transcribe(self, speech: Speech) -> str:
        with self._places:
            recogniser = self._taken()
            try:
                return recogniser.transcribe(speech.pcm, speech.sample_rate_hz)
            finally:
                with self._lock:
                    self._idle.append(recogniser)

    def _taken(self) -> Recogniser:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._make()


Recognisers = Mapping[str, RecogniserPool]
"""By language, as the model names it."""


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """missing: only of a language that rules exist for."""

    text: str
    errors: WordErrors
    missing: tuple[MissingWord, ...] = ()


def listen(speech: Speech, text: str, language: str, recogniser: RecogniserPool) -> RecognisedText:
    return compared(text, recogniser.transcribe(speech), language)


def compared(text: str, heard: str, language: str) -> RecognisedText:
    """language: as the model names it; what no rules exist for is compared word by word as it is written."""
    if language.casefold() != "english":
        return RecognisedText(heard, word_errors(text, heard, plain_words))
    steps = align(spoken_words(text), spoken_words(heard))
    return RecognisedText(heard, counted(steps), tuple(missing_words(steps)))


def longest_run_allowed(num_words: int) -> int:
    """Words in a row that may be read otherwise than they stand in a text of so many."""
    return max(LEAST_RUN, round(RUN_SHARE * num_words))


def word_findings(heard: RecognisedText) -> list[SpeechFinding]:
    """A stretch where not one word is as written: left out, said twice, or something else altogether; and words that
    are missed although what is around them is right.

    The rate of single errors is no measure here: it tells more of the recogniser than of the speech.
    """
    findings: list[SpeechFinding] = []
    allowed = longest_run_allowed(heard.errors.words)
    if heard.errors.longest_run > allowed:
        findings.append(SpeechFinding(Defect.WRONG_WORDS, heard.errors.longest_run, allowed))
    weight = sum(each.weight for each in heard.missing)
    if weight >= ENOUGH:
        which = "; ".join(str(each) for each in heard.missing[:_MOST_NAMED])
        findings.append(SpeechFinding(Defect.MISSING_WORD, weight, ENOUGH, said=f"read back, it has {which}"))
    return findings
