"""What printers and transcribers left in a text is spoken as nothing. Pure.

What may mean something else stays untouched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from reading.cleaning.parted_words import find_divided, find_lost_apostrophes
from reading.script.script import Replacement, Script

_PAGE_MARK = re.compile(r"[ \t]?[\[{](?:Pg|Page|p\.)[ \t]?(?:\d{1,4}|[ivxlc]{1,8})[\]}]", re.IGNORECASE)
_ITALICS = re.compile(r"(?<![\w_])_(?=[^\s_])[^_]{1,5000}(?<=[^\s_])_(?![\w_])")
_STARS = re.compile(r"(?<![\w*\\])(?P<open>\*{1,3})(?=[^\s*])[^*\n]{1,600}(?<=[^\s*\\])(?P<close>(?P=open))(?![\w*])")
_PHONEMES = re.compile(r"(?P<open>\[)[^\[\]\n]{1,60}(?P<close>\]\(/[^/\n()]{1,100}/\))")
"""As clients of other servers say how a word is spoken."""

_NUMBERS = r"\*?\d{1,3}(?:(?:,[ ]?|[–-])\d{1,3}){0,20}"
_NOTE_MARK = re.compile(rf"(?<=[.,;:!?\"'”’)])\[(?:{_NUMBERS}|[*†‡§]{{1,3}})\](?!\()")
_NOTE_MARK_AT_WORD = re.compile(
    rf"(?<=[^\W\d_][^\W\d_])(?:\[(?:{_NUMBERS}|[*†‡§]{{1,3}}|[A-Z])\]|[ \u00a0]\[{_NUMBERS}\])(?![\w(\[])"
)


def without_litter(script: Script, *, is_book: bool) -> Script:
    """Litter is spoken as nothing, and what a file lost is put back. The text stays, and every offset into it."""
    found = [
        *find_litter(script.text, is_book=is_book),
        *find_divided(script.text),
        *find_lost_apostrophes(script.text),
    ]
    return replace(script, replacements=tuple(_fitting(found, script))) if found else script


def _fitting(found: Sequence[Replacement], script: Script) -> Iterator[Replacement]:
    """With those of the script, in order: none overlaps another, none crosses the end of a span."""
    ends = iter(sorted(span.end for block in script.blocks for span in block.spans))
    end, at = 0, 0
    own = {(each.start, each.end) for each in script.replacements}
    both = sorted((*script.replacements, *found), key=lambda each: (each.start, (each.start, each.end) not in own))
    for each in both:
        while end <= each.start:
            end = next(ends)
        if each.start >= at and each.end <= end:
            yield each
            at = each.end


def find_italics(text: str) -> Iterator[tuple[int, int]]:
    """What stands between two underscores or stars, with them."""
    yield from (match.span() for match in _ITALICS.finditer(text))
    yield from (match.span() for match in _STARS.finditer(text) if match["open"] == "*")


def find_litter(text: str, *, is_book: bool) -> Iterator[Replacement]:
    """In no order; may overlap. is_book: a document, where what is in brackets behind a word is a note."""
    for match in _PAGE_MARK.finditer(text):
        yield Replacement(match.start(), match.end(), spoken="", written="")
    for match in _ITALICS.finditer(text):
        yield Replacement(match.start(), match.start() + 1, spoken="", written="")
        yield Replacement(match.end() - 1, match.end(), spoken="", written="")
    for match in (*_STARS.finditer(text), *_PHONEMES.finditer(text)):
        yield Replacement(*match.span("open"), spoken="", written="")
        yield Replacement(*match.span("close"), spoken="", written="")
    for pattern in (_NOTE_MARK, _NOTE_MARK_AT_WORD) if is_book else (_NOTE_MARK,):
        for match in pattern.finditer(text):
            yield Replacement(match.start(), match.end(), spoken="", written="")
