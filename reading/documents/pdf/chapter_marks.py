"""Where the chapters begin that a PDF's outline names: at the heading that says the same, else at that height."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from reading.documents.pdf.headings import Passage
from reading.documents.pdf.library import Bookmark
from reading.documents.plain.numbering import PARTS, read_label

LEAST_CHAPTERS = 2

MOST_PASSAGES = 500
"""Of a page, that are looked at for one bookmark."""

_TOLERANCE = 4.0
_WORD = re.compile(r"[^\W_]+")


def chapter_places(outline: Sequence[Bookmark], passages: Sequence[Passage]) -> Mapping[int, tuple[str, ...]]:
    """By index of the passage: the chapters' titles. Nothing where the outline names fewer than two places."""
    places: dict[int, tuple[str, ...]] = {}
    pages = [passage.page for passage in passages]
    for bookmark in _chapters(outline):
        place = _place(bookmark, passages, bisect_left(pages, bookmark.page))
        if place is not None:
            # Of several that begin at one place, as a part and its first chapter, the last.
            places[place] = (bookmark.title,)
    return places if len(places) >= LEAST_CHAPTERS else {}


def _chapters(outline: Sequence[Bookmark]) -> Iterable[Bookmark]:
    """The first level; both where that holds parts, or the book as a whole."""
    named = [each for each in outline if each.title and each.page >= 0]
    first = [each for each in named if each.level == 1]
    has_parts = any((label := read_label(each.title)) is not None and label.kind in PARTS for each in first)
    return named if has_parts or len(first) < LEAST_CHAPTERS else first


def _place(bookmark: Bookmark, passages: Sequence[Passage], first: int) -> int | None:
    """first: the first passage of the bookmark's page, or of a later one."""
    if first == len(passages):
        return None
    wanted = _words(bookmark.title)
    below = None
    for index in range(first, min(len(passages), first + MOST_PASSAGES)):
        passage = passages[index]
        if passage.page != passages[first].page:
            break
        said = _words(" ".join(passage.lines)[:400])
        if passage.level and wanted and (wanted in said or (said and said in wanted)):
            return index
        if below is None and passage.top <= bookmark.top + _TOLERANCE:
            below = index
    return first if below is None else below


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
