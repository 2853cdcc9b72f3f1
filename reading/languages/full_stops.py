"""Full stops that end no sentence. Pure.

In doubt, a sentence continues: a pause inside a sentence is more noticeable than a missing one.
"""

from __future__ import annotations

import re

from reading.languages.abbreviations import BEFORE_NAMES, BEFORE_NUMBERS, BETWEEN_NUMBERS, OPENERS
from reading.languages.tables import one_of


def _behind_word_start(words: tuple[str, ...]) -> re.Pattern[str]:
    """A hyphen inside a word is none; a dash made of two is."""
    return re.compile(rf"(?<!\w)(?<!\w-)(?:{one_of(words)})\.$")


_NAME_FOLLOWS = _behind_word_start(BEFORE_NAMES)
_NUMBER_FOLLOWS = _behind_word_start(BEFORE_NUMBERS)
_UNIT = re.compile(rf"\d\s?(?:{one_of(BETWEEN_NUMBERS)})\.$")
_COMPOUND_STREET = re.compile(r"[a-zäöü]str\.$")
_INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]\.$")
_GERMAN_ORDINAL = re.compile(
    r"\b(?:am|der|die|das|dem|den|des|im|zum|zur|vom|und|bis|seit|ab|sein(?:e[mnrs]?)?)\s\d{1,3}\.$", re.IGNORECASE
)
_GERMAN_AFTER_ORDINAL = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Jh\b)"
)
_BARE_ORDINAL = re.compile(r"(?<!\S)\d{1,3}\.$")
_ROMAN = re.compile(r"\b[IVXLC]++\b")
_ANSWER = re.compile(r"\b[Nn]o\.$")
_ENGLISH_I = re.compile(r"I\s[^\W\d_]|I['’]")
_OPENER = re.compile(rf"(?:{one_of(OPENERS)})\b")
_QUOTE = re.compile(r"[\"“„«»‘]")

LOOK_BACK = 24
"""Characters before a full stop that decide."""


def is_abbreviation(before: str, after: str) -> bool:
    """Whether the full stop at the end of `before` belongs to its word. `after` is what follows the whitespace."""
    if not before.endswith(".") or not after:
        return False
    before = before[-LOOK_BACK:]
    if _NAME_FOLLOWS.search(before):
        return True
    if after[0].isdigit() or _ROMAN.match(after):
        return _is_before_number(before, after)
    if _OPENER.match(after):
        return False
    initial = _INITIAL.search(before)
    if initial is not None and initial.group()[0].isupper() and after[0].isupper():
        return True
    if _GERMAN_ORDINAL.search(before):
        return not _QUOTE.match(after)
    return bool(_BARE_ORDINAL.search(before) and _GERMAN_AFTER_ORDINAL.match(after))


def _is_before_number(before: str, after: str) -> bool:
    if _ANSWER.search(before) and _ENGLISH_I.match(after):
        # "No. I will not."
        return False
    return any(pattern.search(before) for pattern in (_NUMBER_FOLLOWS, _COMPOUND_STREET, _UNIT))
