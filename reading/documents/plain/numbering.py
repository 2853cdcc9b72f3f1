"""Lines that number a chapter: "CHAPTER II. The Pool", "BOOK THE FIRST", "IV."."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reading.numbers.english_words import cardinal, ordinal
from reading.numbers.roman_numerals import roman_value

_PARTS = "part book volume act teil buch partie livre tome parte libro deel boek"
_CHAPTERS = (
    "chapter letter stave canto scene section episode adventure lecture essay fable kapitel chapitre capítulo "
    "capitolo hoofdstuk rozdział"
)
_NAMED = (
    "prologue epilogue preface introduction foreword afterword conclusion introductory postscript interlude "
    "prelude appendix prolog epilog vorwort nachwort einleitung préface prólogo prefazione etymology extracts"
)


_MOST_IN_WORDS = 99
NUMBER_WORDS = {word(number): number for word in (cardinal, ordinal) for number in range(1, _MOST_IN_WORDS + 1)}
PARTS = frozenset(_PARTS.split())
"""What holds chapters."""

CHAPTERS = frozenset(_CHAPTERS.split())
NAMED = frozenset(_NAMED.split())
"""Chapters without a number."""

MAX_HEADING = 120

_LABEL = re.compile(
    rf"(?P<kind>(?i:{'|'.join(sorted(PARTS | CHAPTERS))}))\s+(?:(?i:the)\s+)?"
    r"(?P<number>[0-9]{1,4}|[^\W\d_]{1,12}(?:-[^\W\d_]{1,8})?)(?![\w'’])"
    r"(?P<gap>\s*(?:[.:—–]|-{1,2})\s*|\s*)(?P<title>.{0,120})"
)
_BARE = re.compile(r"(?P<number>[IVXLC]{1,9}|[0-9]{1,3})(?P<gap>\s*(?:[.:—–]|-{2})\s*|\s{2,}|$)(?P<title>.{0,120})")
_ROMAN = re.compile(r"(?:(?P<c>C{0,3}))(?P<x>XC|XL|L?X{0,4})(?P<i>IX|IV|V?I{0,4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Label:
    """kind: its keyword in lower case, "roman" or "digit" where there is none. title: what the line says behind it."""

    kind: str
    number: int
    title: str

    @property
    def is_bare(self) -> bool:
        return self.kind in ("roman", "digit")


def read_label(text: str) -> Label | None:
    """text: a line, without blanks at its edges. None for one that numbers nothing."""
    if len(text) > MAX_HEADING:
        return None
    return _keyworded(text) or _bare(text)


def is_named(text: str) -> bool:
    """PREFACE and its like, which stand alone."""
    return len(text) < 40 and text.rstrip(".:").casefold() in NAMED and text[0].isupper()


def _keyworded(text: str) -> Label | None:
    match = _LABEL.fullmatch(text)
    if match is None or match["kind"][0].islower():
        return None
    number = _value(match["number"])
    title = match["title"].strip(" .:—–-")
    if number is None or not _may_follow(match["kind"], match["gap"], title):
        return None
    return Label(match["kind"].casefold(), number, title)


def _may_follow(kind: str, gap: str, title: str) -> bool:
    """Whether these words are a title, and not the rest of a sentence ("Part one of the plan was easy.")."""
    if not title:
        return True
    if title[0].islower():
        return bool(gap.strip()) and title[-1].isalnum()
    return bool(gap.strip()) or len(gap) > 1 or kind.isupper()


def _bare(text: str) -> Label | None:
    match = _BARE.fullmatch(text)
    if match is None:
        return None
    number = _value(match["number"])
    title = match["title"].strip()
    is_sentence = title.endswith((".", ",", ";", ":")) and not title.isupper()
    if number is None or (title and (title[0].islower() or is_sentence)):
        return None
    return Label("digit" if match["number"].isdigit() else "roman", number, title)


def _value(number: str) -> int | None:
    if number.isdigit():
        return int(number)
    if (known := NUMBER_WORDS.get(number.casefold())) is not None:
        return known
    return roman_value(number.upper()) if _ROMAN.fullmatch(number) else None
