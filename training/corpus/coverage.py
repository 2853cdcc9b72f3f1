"""Sentences without a sense that bring every common word often enough for its spelling to be learned.

Of the words that an earlier talker met fewer than five times it said 44 % wrong, of those it met more than a thousand
times 5 %: how a word is spelled and sounds is learned word by word, far more than by rule.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

_GLUE = (
    "the", "the", "the", "a", "of", "and", "to", "in", "is", "was", "for", "it", "with", "on", "that", "this",
    "at", "by", "from", "or", "as", "his", "her", "their", "not", "are", "were", "be", "has", "had", "have",
    "he", "she", "they", "we", "you", "I", "my", "your", "our", "its", "but", "if", "when", "all", "more", "no",
    "some", "any", "will", "would", "can", "could", "who", "what", "so", "out", "up",
)  # fmt: skip
_OPENINGS = (
    "the", "a", "this", "my", "his", "her", "our", "some", "every", "no", "and", "but", "then", "there was", "it is",
    "we saw", "they had", "you need", "she said", "he was", "I think", "do you", "please", "what about", "is it",
)  # fmt: skip


def wanted_times(rank: int) -> int:
    """How often the word of this rank in the frequency list should occur."""
    return 110 if rank < 5_000 else 75 if rank < 12_000 else 40 if rank < 22_000 else 12


def covering_sentences(words: Sequence[str], seen: Counter[str], rng: random.Random) -> list[str]:
    """Lower-case sentences, in which each of `words` (most frequent first) makes up what it lacks in `seen`."""
    lacking = [w for rank, w in enumerate(words) for _ in range(max(0, wanted_times(rank) - seen[w]))]
    rng.shuffle(lacking)
    return list(_sentences(lacking, rng))


def _sentences(words: Sequence[str], rng: random.Random) -> Iterator[str]:
    queue = iter(words)
    for first in queue:
        parts = [rng.choice(_OPENINGS)] if rng.random() < 0.6 else []
        parts.append(_as_name(first, rng))
        for _ in range(rng.choice((1, 2, 3, 4, 4, 5, 6, 8))):
            if rng.random() < 0.12:
                parts[-1] += ","
            if rng.random() < 0.55:
                parts.append(rng.choice(_GLUE))
            following = next(queue, None)
            if following is None:
                break
            parts.append(_as_name(following, rng))
        yield " ".join(parts) + rng.choice((".", ".", ".", ".", ".", "?", "!"))


def _as_name(word: str, rng: random.Random) -> str:
    if word == "i" or word.startswith("i'"):
        return word.capitalize()
    return word.capitalize() if rng.random() < 0.07 else word
