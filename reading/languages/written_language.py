"""Which language a text is in, where its commonest words leave no doubt. Pure.

About half of the words of running text are articles, pronouns, prepositions and the like, and of these every language
has its own. A few sentences suffice to know that a text is not what it should be; single words, names, lists and verse
may not, and then nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from reading.languages.function_words import FUNCTION_WORDS
from reading.languages.names import LANGUAGE_NAMES

_WORD = re.compile(r"\b[^\W\d_]+\b")
_KNOWN = frozenset(FUNCTION_WORDS.keys() | set(LANGUAGE_NAMES.values()))

LEAST_HITS = 3
LEAST_SHARE = 0.3
"""Of all words, those that are common in the language found."""

LEAST_LEAD = 3
"""So many times as many as of any language that would be right."""


def wrong_language(text: str, expected: Collection[str]) -> str | None:
    """The language that the text surely is in instead of one of those; None if it is not sure.

    It never is where one of those is unknown here: the text may look like its neighbour.
    """
    right_ones = {name.casefold() for name in expected}
    if not right_ones <= _KNOWN:
        return None
    words = _WORD.findall(text.casefold())
    hits = {language: sum(word in common for word in words) for language, common in FUNCTION_WORDS.items()}
    found = max(hits, key=lambda language: hits[language])
    right = max((hits.get(language, 0) for language in right_ones), default=0)
    is_sure = (
        hits[found] >= LEAST_HITS and hits[found] >= LEAST_SHARE * len(words) and hits[found] >= LEAST_LEAD * right
    )
    return found if is_sure and found not in right_ones else None
