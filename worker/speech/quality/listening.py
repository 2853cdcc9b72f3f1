"""The `asr` quality gate: what a recogniser reads in the speech, against what the text says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from queue import LifoQueue

from reading.languages.function_words import FUNCTION_WORDS
from worker.engine.interface import Speech
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.recognisers.interface import Recogniser
from worker.speech.quality.words.number_digits import DIGIT_WORDS
from worker.speech.quality.words.spelling import spoken_words
from worker.speech.quality.words.word_errors import Edit, Step, WordErrors, align, counted, plain_words, word_errors

ENOUGH = 1.0
"""The weight from which an utterance says something else than its text: a word that means something, or a "not"."""

_SMALL = 0.4
"""Of an article or a preposition: one is easily swallowed, three are not."""

_NEGATIONS = frozenset({"not", "no", "never", "none", "nothing", "nobody", "without", "neither", "nor"})
"""Without them, or with others, a sentence says the opposite. Names are words like any other here."""

_SMALL_WORDS = FUNCTION_WORDS["english"] - _NEGATIONS
_MOST_ALIKE = 0.34
"""Share of letters in order: "weighs" and "was" have 0.44."""
_LEAST_LETTERS = 5
"""Of a word in whose place another counts: a recogniser reads "put" as "poop" and "row" as "real"."""

LEAST_RUN = 4
"""Words in a row that a recogniser may misread in any text: names and rare words come in twos and threes."""

RUN_SHARE = 0.12
"""Of a long text's words, what it may misread in a row: of 120 utterances of the small voice, at 7.5 % word errors,
Moonshine tiny read none beyond these two."""

_MOST_NAMED = 3


class RecogniserPool:
    """A recogniser for one kind of languages, shared by a worker's threads. Instances are made when they are needed.

    places: recognitions at the same time, each with its own core and instance.
    """

    def __init__(self, make: Callable[[], Recogniser], places: int = 1) -> None:
        self._make = make
        self._idle: LifoQueue[Recogniser | None] = LifoQueue()
        for _ in range(places):
            self._idle.put(None)

    def transcribe(self, speech: Speech) -> str:
        recogniser = self._idle.get()
        try:
            recogniser = recogniser or self._make()
            return recogniser.transcribe(speech.pcm, speech.sample_rate_hz)
        finally:
            self._idle.put(recogniser)


Recognisers = Mapping[str, RecogniserPool]
"""By language, as the model names it."""


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """missing: only of a language that rules exist for."""

    errors: WordErrors
    missing: tuple[MissingWord, ...] = ()


def compared(text: str, heard: str, language: str) -> RecognisedText:
    """language: as the model names it; what no rules exist for is compared word by word as it is written."""
    if language.casefold() != "english":
        return RecognisedText(word_errors(text, heard, plain_words))
    steps = align(spoken_words(text), spoken_words(heard))
    return RecognisedText(counted(steps), tuple(missing_words(steps)))


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
        findings.append(SpeechFinding(Defect.MISSING_WORD, weight, ENOUGH, said=f"speech recognition found {which}"))
    return findings


# Single words that were surely not said: the recogniser reads what stands on both sides of them, and not them.
# A small recogniser hardly ever leaves out a word between two that it reads right, and often reads such a word
# otherwise ("stops" for "tops"). So what is left out counts by what it means, and what is read otherwise only where
# it sounds otherwise, or is another number.
@dataclass(frozen=True, slots=True)
class MissingWord:
    """wanted: a word, or the digits of a number. heard: the recognised word in its place, "" if none."""

    wanted: str
    heard: str
    weight: float

    def __str__(self) -> str:
        return f"“{self.heard}” for “{self.wanted}”" if self.heard else f"no “{self.wanted}”"


def missing_words(steps: Sequence[Step]) -> list[MissingWord]:
    """steps: of the alignment of an English text with what a recogniser read."""
    found = [_missing(steps, start, end) for start, end in _differences(steps)]
    return [each for each in found if each.weight]


def _differences(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Where stretches without a right word begin and end."""
    start: int | None = None
    for place, step in enumerate(steps):
        if step.edit is not Edit.SAME:
            start = place if start is None else start
        elif start is not None:
            yield start, place
            start = None
    if start is not None:
        yield start, len(steps)


def _missing(steps: Sequence[Step], start: int, end: int) -> MissingWord:
    wanted = [step.wanted for step in steps[start:end] if step.wanted]
    heard = [step.heard for step in steps[start:end] if step.heard]
    is_inside = start > 0 and end < len(steps)
    is_alone = not (start or end < len(steps))
    said, instead = " ".join(wanted), " ".join(heard)
    if is_alone or not wanted or (heard and not is_inside):
        return MissingWord(said, instead, 0.0)
    if all(word in DIGIT_WORDS for word in wanted):
        # What is read for a number and is none is the recogniser's own: "anti" for "eighty".
        is_number = all(word in DIGIT_WORDS for word in heard)
        return MissingWord(said, instead, ENOUGH if is_number else 0.0)
    return MissingWord(said, instead, _word_weight(said, instead) if len(wanted) == 1 and len(heard) < 2 else 0.0)


def _word_weight(wanted: str, heard: str) -> float:
    if not heard:
        # A letter alone stands for a small word that sounds as it does: "you", "are".
        return _SMALL if wanted in _SMALL_WORDS or len(wanted) == 1 else ENOUGH
    is_short = len(wanted) < _LEAST_LETTERS and wanted not in _NEGATIONS
    is_alike = SequenceMatcher(None, wanted, heard, autojunk=False).ratio() > _MOST_ALIKE
    return 0.0 if is_short or is_alike else ENOUGH
