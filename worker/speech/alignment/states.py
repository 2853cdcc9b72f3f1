"""The words of a text as the row of sounds that is looked for in its speech. Pure but for the pronouncer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.speech.alignment.pronunciation import MOST_LETTERS, Pronouncer
from worker.speech.alignment.sounds import SOUNDS
from worker.speech.alignment.viterbi import States

ANY_SOUND = len(SOUNDS)
"""A separate column: any sound, for cases that the letters do not determine."""

SILENCE_COLUMN = 0

_PARTS = re.compile(r"[a-z](?:[a-z']*[a-z])?|[^\W_]")
_UNKNOWN_SOUNDS = 2
"""Of a sign that is no English letter, at least: a digit, a letter of another script."""


@dataclass(frozen=True, slots=True)
class AlignedSound:
    """One that is looked for: a column of the scores, and which character of which word it comes from."""

    column: int
    word: int
    character: int


@dataclass(frozen=True, slots=True)
class WordStates:
    """sounds: of each state; None is silence."""

    states: States
    sounds: tuple[AlignedSound | None, ...]


def word_states(words: Sequence[str], pronouncer: Pronouncer) -> WordStates:
    """Silence may lie around each word and at each hyphen. Words without a letter or digit have no sounds."""
    stretches = _stretches(words, pronouncer)
    sounds: list[AlignedSound | None] = [None]
    for stretch in stretches:
        sounds += [*stretch, None]
    columns = [SILENCE_COLUMN if sound is None else sound.column for sound in sounds]
    skipped = [sound is None for sound in sounds]
    return WordStates(States(np.array(columns), np.array(skipped)), tuple(sounds))


def _stretches(words: Sequence[str], pronouncer: Pronouncer) -> list[list[AlignedSound]]:
    """What is said without a pause."""
    parts = [(number, at, part) for number, word in enumerate(words) for at, part in _parts(word)]
    known = [part for _, _, part in parts if _is_known(part)]
    spoken = iter(pronouncer.pronounce(known))
    stretches: list[list[AlignedSound]] = []
    for number, at, part in parts:
        if _is_known(part):
            said = next(spoken)
            pairs = zip(said.sounds, said.letters, strict=True)
            stretches.append([AlignedSound(column, number, at + letter) for column, letter in pairs])
        else:
            stretches.append([AlignedSound(ANY_SOUND, number, at)] * _UNKNOWN_SOUNDS)
    return stretches


def _parts(word: str) -> list[tuple[int, str]]:
    """Runs of English letters, and each sign of another kind that is said; with their places in the word."""
    found: list[tuple[int, str]] = []
    for match in _PARTS.finditer(_plain(word)):
        part = match[0]
        found += [(match.start() + cut, part[cut : cut + MOST_LETTERS]) for cut in range(0, len(part), MOST_LETTERS)]
    return found


def _plain(word: str) -> str:
    """Letters without their accents, in lower case, each sign in its place."""
    return "".join(_plain_sign(sign) for sign in word)


def _plain_sign(sign: str) -> str:
    if sign in "’ʼ":
        return "'"
    plain = unicodedata.normalize("NFKD", sign)[0].lower()
    return plain if len(plain) == 1 else sign


def _is_known(part: str) -> bool:
    return part[0].isascii() and part[0].isalpha()
