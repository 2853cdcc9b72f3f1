"""Words that a file parts, made whole.

Divided at a line's end, as "won-" and "der": a word of the same text shows whether the hyphen belongs to it
("well-known"). Without such a word, the parts must not be among the commonest words. So a dash stays a dash.

English apostrophes that became spaces, as in "don t": old files of books often lost them so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from reading.languages.function_words import FUNCTION_WORDS
from reading.script.script import Replacement

FEW = 4
"""Places that tell nothing of the text's way with words."""

_DIVIDED = re.compile(r"(?<![\w-])([^\W\d_]{2,30})-([ \t]{0,4}\n[ \t]{0,40}| )([^\W\d_]{2,30})(?![\w'’])")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_COMMON = FUNCTION_WORDS["english"] | {"und", "oder", "bis", "et", "ou", "och", "ed"}
"""With what joins halves of words in other languages. All their words would be too many: "der" is half of a wonder."""


def find_divided(text: str) -> Iterator[Replacement]:
    """The hyphen and the gap after it, for nothing or for the hyphen alone."""
    found = list(_DIVIDED.finditer(text))
    words = _words_besides(text, found)
    divides = _divides(found, words)
    for match in found:
        left, gap, right = match.groups()
        spoken = _spoken(left, right, is_line_end="\n" in gap, words=words)
        if spoken == "" and not divides and words[f"{left}{right}".casefold()] <= 0:
            spoken = "-"
        if spoken is not None:
            yield Replacement(match.end(1), match.start(3), spoken, written=spoken)


def _divides(found: Sequence[re.Match[str]], words: Counter[str]) -> bool:
    """Whether this text divides words at all: one that was typed by people has only hyphens that are its own."""
    whole = sum(1 for match in found if words[f"{match[1]}{match[3]}".casefold()] > 0)
    return len(found) < FEW or whole * 5 >= len(found)


def _words_besides(text: str, found: Sequence[re.Match[str]]) -> Counter[str]:
    """What the text says elsewhere than at these places."""
    words = Counter(word.casefold() for word in _WORD.findall(text)) if found else Counter[str]()
    words.subtract(part.casefold() for match in found for part in (match[1], match[3]))
    return words


def _spoken(left: str, right: str, *, is_line_end: bool, words: Counter[str]) -> str | None:
    """None for what is left alone."""
    before, behind = left.casefold(), right.casefold()
    whole = f"{before}{behind}"
    if words[whole] > 0 or whole in _COMMON:
        return ""
    if words[f"{before}-{behind}"] > 0:
        return "-"
    if behind in _COMMON:
        return None
    is_compound = right[0].isupper() or (words[before] > 0 and words[behind] > 0)
    if is_compound:
        return "-" if is_line_end else None
    return ""


_CERTAIN = re.compile(
    r"\b(?:(?:ai|are|ca|could|did|do|does|had|has|have|is|must|need|sha|should|was|were|wo|would)n(?P<not>[ \u00a0])t"
    r"|(?:I|he|it|she|they|we|who|you)(?P<verb>[ \u00a0])(?:ll|re|ve))(?![\w'’-])",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(
    r"(?<=[^\W\d_]{2})(?P<s>[ \u00a0])s\b|\bI(?P<m>[ \u00a0])m\b|\b(?:I|he|it|she|they|we|who|you)(?P<d>[ \u00a0])d\b"
    r"|\bo(?P<o>[ \u00a0])clock\b"
)
_KEPT = re.compile(r"[^\W\d_]['’][^\W\d_]")


def find_lost_apostrophes(text: str) -> Iterator[Replacement]:
    """The spaces in their places. A lone "s" is one only in a text that lost others and kept none."""
    certain = list(_CERTAIN.finditer(text))
    possible = [] if not certain or _KEPT.search(text) else list(_POSSIBLE.finditer(text))
    for match in (*certain, *possible):
        if match.lastgroup is not None:
            yield Replacement(*match.span(match.lastgroup), spoken="’", written="’")
