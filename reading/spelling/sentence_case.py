"""A replacement at the start of a sentence begins with a capital, as what it replaces does or a number would. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from reading.languages.full_stops import LOOK_BACK, is_abbreviation
from reading.script.script import Replacement

_FIRST = re.compile(r"(?:\n[^\S\n]{0,40}\n\s{0,40}|[.!?…][\"”’»)\]]{0,3}(?P<gap>\s{1,40}))[\"“„«‘'(\[¿¡*_]{0,3}\Z")
_OPENING = re.compile(r"\s{0,40}[\"“„«‘'(\[¿¡*_]{0,3}\Z")
_LETTER = re.compile(r"(?<![^\W_])[a-z]\.\Z")
"""Died: d. 1481."""

_FURTHEST = 96


def in_sentence_case(text: str, start: int, each: Replacement) -> Replacement:
    """start: where the block of text begins that the replacement is in."""
    if not each.spoken[:1].islower() or text[each.start].islower() or not _starts_sentence(text, start, each):
        return each
    return replace(each, spoken=each.spoken[0].upper() + each.spoken[1:])


def _starts_sentence(text: str, start: int, each: Replacement) -> bool:
    before = text[max(start, each.start - _FURTHEST) : each.start]
    if each.start - start < _FURTHEST and _OPENING.fullmatch(before):
        return True
    found = _FIRST.search(before)
    if found is None:
        return False
    if found["gap"] is None:
        return True
    if _LETTER.search(before, 0, found.start("gap")):
        return False
    return not is_abbreviation(before[: found.start("gap")], text[each.start : each.start + LOOK_BACK])
