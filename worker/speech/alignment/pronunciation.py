"""How English words sound, guessed from their letters by a small network: for each word its sounds, and which letter
each comes from.

Good enough to find a word in speech, not to speak it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.convolutions import ConvolutionStack, Floats
from worker.speech.alignment.sounds import SOUNDS

LETTERS = "abcdefghijklmnopqrstuvwxyz'"
SLOTS = 2
"""Sounds that a letter may stand for: x is k and s."""
NOTHING = 0
"""In a slot without a sound; the number of silence among the sounds."""

MOST_LETTERS = 40
_KEPT_WORDS = 20_000


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """sounds: places in `SOUNDS`, at least one. letters: the place of the letter that each comes from."""

    sounds: tuple[int, ...]
    letters: tuple[int, ...]


class Pronouncer:
    """Not thread-safe. Words are kept: a book has few of them, said often."""

    def __init__(self, network: ConvolutionStack) -> None:
        self._network = network
        self._known: OrderedDict[str, Pronunciation] = OrderedDict()

    def pronounce(self, words: Sequence[str]) -> list[Pronunciation]:
        """words: of `LETTERS` alone, one at least and `MOST_LETTERS` at most."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._known]
        if unknown:
            self._learn(unknown)
        found = [self._known[word] for word in words]
        while len(self._known) > _KEPT_WORDS:
            self._known.popitem(last=False)
        return found

    def _learn(self, words: Sequence[str]) -> None:
        spelt = np.stack([spelling(word, max(map(len, words))) for word in words])
        scores = self._network(spelt).reshape(len(words), -1, len(SOUNDS))
        for word, slots in zip(words, scores, strict=True):
            self._known[word] = _read(slots[: len(word) * SLOTS])


def spelling(word: str, length: int) -> Floats:
    """A one for each letter, (length, letters)."""
    spelt = np.zeros((length, len(LETTERS)), np.float32)
    spelt[np.arange(len(word)), [LETTERS.index(letter) for letter in word]] = 1
    return spelt


def _read(scores: Floats) -> Pronunciation:
    """The likeliest sound of each slot; one that goes on over several slots is one sound."""
    best: NDArray[np.int64] = scores.argmax(1)
    begins = (best != NOTHING) & (best != np.concatenate(([NOTHING], best[:-1])))
    if not begins.any():
        begins[scores[:, NOTHING + 1 :].max(1).argmax()] = True
        best = scores[:, NOTHING + 1 :].argmax(1) + NOTHING + 1
    places = np.flatnonzero(begins)
    return Pronunciation(tuple(best[places].tolist()), tuple((places // SLOTS).tolist()))
