"""A table of contents in a text file: known by what it names, which comes again where the chapters begin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reading.documents.plain.numbering import read_label
from reading.documents.plain.paragraphs import TextParagraph

LEAST_ENTRIES = 3
MOST_LINES = 3_000
SHORTEST = 3
"""Letters of a key: a numeral alone is none."""


CONTENTS_HEADINGS = frozenset(
    {
        *("contents", "table of contents", "the contents", "inhalt", "inhaltsverzeichnis", "sommaire"),
        *("table des matières", "índice", "indice", "inhoud"),
    }
)
_PAGE = re.compile(r"(?:[\s.·]{2,80}|\s{1,40}page\s{1,40})(?:\d{1,4}|[ivxlc]{1,8})$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Contents:
    """first, last: indexes of its paragraphs. keys: what it calls the chapters, as `keys_of` spells it."""

    first: int
    last: int
    keys: frozenset[str]


def keys_of(text: str) -> frozenset[str]:
    """What a line may be known by: all of its words, and those behind its number; without the page it leads to."""
    bare = _without_page(text)
    label = read_label(bare)
    found = {spelled(bare)}
    if label is not None:
        found.add(spelled(label.title))
        if not label.is_bare:
            found.add(f"{label.kind} {label.number}")
    return frozenset(key for key in found if len(key) >= SHORTEST)


def find_contents(paragraphs: Sequence[TextParagraph]) -> Contents | None:
    """The first there is, headed or not; None for a text that has none, or one that nothing bears out."""
    lasts = _last_places(paragraphs)
    for first, paragraph in enumerate(paragraphs):
        if paragraph.first.text.rstrip(".:").casefold() in CONTENTS_HEADINGS:
            return _headed(paragraphs, first, lasts)
    return _unheaded(paragraphs, lasts)


def _headed(paragraphs: Sequence[TextParagraph], first: int, lasts: Mapping[str, int]) -> Contents | None:
    entries, stop = _entries(paragraphs, first)
    borne_out = [(index, keys) for index, keys in entries if _comes_from(keys, stop, lasts)]
    if len(borne_out) < LEAST_ENTRIES - 1 or len(borne_out) * 2 < len(entries):
        return None
    # What is not borne out at the end may be a dedication.
    last = max(first, min(borne_out[-1][0], stop - 1))
    return Contents(first, last, frozenset().union(*(keys for _, keys in borne_out)))


def _entries(paragraphs: Sequence[TextParagraph], first: int) -> tuple[list[tuple[int, frozenset[str]]], int]:
    """The lines below the heading, each with its paragraph, up to one that was there before; and where that is."""
    entries: list[tuple[int, frozenset[str]]] = []
    seen: set[str] = set()
    for index in range(first, len(paragraphs)):
        if _is_prose(paragraphs[index]):
            return entries, index
        for line in paragraphs[index].lines[1 if index == first else 0 :]:
            keys, full = keys_of(line.text), spelled(_without_page(line.text))
            if full in seen or (len(entries) > 1 and keys & entries[0][1]) or len(entries) >= MOST_LINES:
                return entries, index
            seen.add(full)
            entries.append((index, keys))
    return entries, len(paragraphs)


def _unheaded(paragraphs: Sequence[TextParagraph], lasts: Mapping[str, int]) -> Contents | None:
    """Numbered lines with nothing between them."""
    first = None
    for index, paragraph in enumerate(paragraphs):
        if all(read_label(line.text) for line in paragraph.lines):
            first = index if first is None else first
        elif first is not None:
            if found := _run(paragraphs, first, index, lasts):
                return found
            first = None
    return None


def _run(paragraphs: Sequence[TextParagraph], first: int, end: int, lasts: Mapping[str, int]) -> Contents | None:
    """Of paragraphs of numbered lines, those up to the last that comes again: after it may be the first chapter."""
    entries = [(index, keys_of(line.text)) for index in range(first, end) for line in paragraphs[index].lines]
    borne_out = [(index, keys) for index, keys in entries if _comes_from(keys, index + 1, lasts)]
    if len(entries) < LEAST_ENTRIES or len(borne_out) * 2 < len(entries) or len(borne_out) < LEAST_ENTRIES:
        return None
    last = borne_out[-1][0]
    return Contents(first, last, frozenset().union(*(keys for _, keys in borne_out)))


def _comes_from(keys: frozenset[str], index: int, lasts: Mapping[str, int]) -> bool:
    return any(lasts.get(key, -1) >= index for key in keys)


def _last_places(paragraphs: Sequence[TextParagraph]) -> dict[str, int]:
    """Where what may be a heading, a short paragraph, comes for the last time."""
    lasts: dict[str, int] = {}
    for index, paragraph in enumerate(paragraphs):
        if len(paragraph.lines) <= 3:
            lasts |= dict.fromkeys(keys_of(paragraph.text) | keys_of(paragraph.first.text), index)
    return lasts


def _is_prose(paragraph: TextParagraph) -> bool:
    text = paragraph.text
    numbered = sum(
        1 for line in paragraph.lines if len(line.text) < 55 or read_label(line.text) or _ends_in_page(line.text)
    )
    return len(text) > 250 and numbered * 2 < len(paragraph.lines)


def _ends_in_page(text: str) -> bool:
    return _without_page(text) != text


def _without_page(text: str) -> str:
    return _PAGE.sub("", text) if len(text) < 200 else text


def spelled(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
