"""Sentences that were lost or said twice, in what a recogniser heard of a text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from worker.speech.quality.words.spelling import spoken_words
from worker.speech.quality.words.word_errors import Edit, align

MIN_SENTENCE_WORDS = 4
"""Shorter sentences ("Come in.") are not judged alone: one misheard word would be a third of them."""

LOST_SHARE = 0.7
"""A sentence is lost when at least this share of its words has nothing in its place."""

REPEAT_LIKENESS = 0.7
"""Share of a sentence's words that a stretch must hold, in order, to be that sentence said again."""


@dataclass(frozen=True, slots=True)
class SentenceFaults:
    """Sentences, as they stand in the text, that were not said at all or more often than they stand there."""

    lost: tuple[str, ...]
    repeated: tuple[str, ...]


def sentence_faults(sentences: Sequence[str], heard: str) -> SentenceFaults:
    """sentences: the text's own, in order. Those of fewer than `MIN_SENTENCE_WORDS` words are not judged."""
    spoken = [spoken_words(sentence) for sentence in sentences]
    said = spoken_words(heard)
    written = [word for words in spoken for word in words]
    edits = [step.edit for step in align(written, said) if step.edit is not Edit.ADDED]
    lost: list[str] = []
    repeated: list[str] = []
    place = 0
    for sentence, words in zip(sentences, spoken, strict=True):
        fates = edits[place : place + len(words)]
        place += len(words)
        if len(words) < MIN_SENTENCE_WORDS:
            continue
        if fates.count(Edit.LOST) >= LOST_SHARE * len(words):
            lost.append(sentence)
        # A text may say the same thing twice itself, or nearly.
        if occurrences(words, said) > occurrences(words, written):
            repeated.append(sentence)
    return SentenceFaults(tuple(lost), tuple(repeated))


def occurrences(phrase: Sequence[str], words: Sequence[str]) -> int:
    """How many stretches of `words`, none overlapping, hold at least `REPEAT_LIKENESS` of `phrase` in order.

    A stretch is no longer than the phrase and a third, so that far scattered words do not count.
    """
    window = len(phrase) + len(phrase) // 3
    found, place = 0, 0
    while place < len(words):
        length = _length_if_said(phrase, words[place : place + window])
        found += length > 0
        place += length or 1
    return found


def _length_if_said(phrase: Sequence[str], stretch: Sequence[str]) -> int:
    """How many words of `stretch` the phrase takes, from the first on; 0 if it does not begin with it."""
    enough = REPEAT_LIKENESS * len(phrase)
    # Aligning is a thousand times as dear as counting, and nearly every stretch fails here.
    if stretch[0] not in phrase or (Counter(phrase) & Counter(stretch)).total() < enough:
        return 0
    heard = [step for step in align(phrase, stretch) if step.edit is not Edit.LOST]
    same = [number for number, step in enumerate(heard, 1) if step.edit is Edit.SAME]
    return same[-1] if len(same) >= enough else 0
