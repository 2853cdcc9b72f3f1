"""Whether words are such as a character uses elsewhere, by the turns whose tags name their speaker. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

_PRIOR = 60.0
"""Words of the whole book that count beside a character's own."""
_LEAST_WORDS = 100
_MOST_WORDS = 300
"""Words of a turn that count."""
_LEVELS = (
    (-6.0, "very unlike"),
    (-3.0, "unlike"),
    (-1.0, "rather unlike"),
    (1.0, "even"),
    (3.0, "rather"),
    (6.0, "like"),
)


class Wording:
    """words: of each turn, in small letters. speakers: of each turn, None if its tag does not tell."""

    def __init__(self, words: Sequence[Sequence[str]], speakers: Sequence[Hashable | None]) -> None:
        self._words = [Counter(each[:_MOST_WORDS]) for each in words]
        self._speakers = speakers
        self._all: Counter[str] = Counter()
        self._own: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
        for counts, speaker in zip(self._words, speakers, strict=True):
            self._all.update(counts)
            if speaker is not None:
                self._own[speaker].update(counts)
        self._num_all = sum(self._all.values()) or 1
        self._num_own = {speaker: sum(own.values()) for speaker, own in self._own.items()}

    def fits(self, turn: int, speaker: Hashable) -> str:
        """How well the turn's words fit to this speaker's others: a level of their logarithm of odds."""
        counts = self._words[turn]
        is_own = self._speakers[turn] == speaker
        number = self._num_own.get(speaker, 0) - (sum(counts.values()) if is_own else 0)
        if number < _LEAST_WORDS:
            return "unknown"
        own = self._own[speaker]
        score = 0.0
        for word, count in counts.items():
            others = own[word] - count if is_own else own[word]
            share = _PRIOR * self._all[word] / self._num_all
            score += count * math.log((others + share) / share / (number + _PRIOR) * _PRIOR)
        return next((name for most, name in _LEVELS if score < most), "very like")
