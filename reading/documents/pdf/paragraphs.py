"""Lines to paragraphs: by what stands between them, how far they are indented, and where they end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from reading.documents.pdf.columns import Column
from reading.documents.pdf.lines import PdfLine

WIDER = 1.35
"""Than the usual way from line to line: a gap between paragraphs."""

INDENT = 0.7
"""Of the letters' size, and not more than `MOST_INDENT`."""

MOST_INDENT = 6.0

_SAME_SIZE = 0.08
BULLET = re.compile(r"[•▪◦‣●○■–—][ ]")
_LABEL = re.compile(r"(?:[•▪◦‣●○■–—]|\(?(?:\d{1,3}|[a-z])[.)]|\[\w{1,8}\])[ ]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’»)\]]{0,3}$")


@dataclass(frozen=True, slots=True)
class PdfParagraph:
    """breaks: indexes of its lines that begin a line of verse."""

    lines: tuple[PdfLine, ...]
    breaks: frozenset[int] = frozenset()

    @property
    def first(self) -> PdfLine:
        return self.lines[0]

    @property
    def size(self) -> float:
        return self.first.size

    @property
    def is_bold(self) -> bool:
        return all(line.is_bold for line in self.lines)


def paragraphs_of(columns: Sequence[Column]) -> list[PdfParagraph]:
    """Of the whole document; one that goes on in the next column, or on the next page, is one."""
    leading = _leading(columns)
    paragraphs: list[PdfParagraph] = []
    last: Column | None = None
    for column in columns:
        found = list(_divided(column, leading))
        if paragraphs and found and last is not None and _goes_on(paragraphs[-1], last, found[0], column):
            paragraphs[-1] = _joined(paragraphs[-1], found.pop(0))
        paragraphs += found
        last = column
    return paragraphs


def _leading(columns: Sequence[Column]) -> float:
    """From line to line, in sizes of their letters."""
    steps = [
        (one.baseline - two.baseline) / one.size
        for column in columns
        for one, two in pairwise(column.lines)
        if _is_same_size(one, two) and 0 < one.baseline - two.baseline < 4 * one.size
    ]
    return median(steps) if steps else 1.2


def _divided(column: Column, leading: float) -> Iterator[PdfParagraph]:
    if not column.lines:
        return
    left, right = column.left, column.right
    open_lines, breaks = [column.lines[0]], set[int]()
    for before, line in pairwise(column.lines):
        if _begins(before, line, open_lines, (left, right), leading):
            yield PdfParagraph(tuple(open_lines), frozenset(breaks))
            open_lines, breaks = [], set()
        elif _is_short(before, line, right):
            breaks.add(len(open_lines))
        open_lines.append(line)
    yield PdfParagraph(tuple(open_lines), frozenset(breaks))


def _begins(
    before: PdfLine, line: PdfLine, open_lines: Sequence[PdfLine], edges: tuple[float, float], leading: float
) -> bool:
    """Whether the line begins a paragraph."""
    if not _is_same_size(before, line) or before.is_bold != line.is_bold or before.is_table or line.is_table:
        return True
    if not 0 < before.baseline - line.baseline <= WIDER * leading * line.size:
        return True
    is_short = _is_short(before, line, edges[1])
    if BULLET.match(line.text) or (is_short and (ends_sentence(before.text) or _LABEL.match(line.text))):
        return True
    return _is_indented(before, line, open_lines, edges[0], is_short=is_short)


def _is_indented(before: PdfLine, line: PdfLine, open_lines: Sequence[PdfLine], left: float, *, is_short: bool) -> bool:
    """As a paragraph's first line; not as the second of an entry that hangs over."""
    step = line.left - before.left
    deep = line.left - left
    if not INDENT * line.size < deep < MOST_INDENT * line.size:
        return False
    if step > INDENT * line.size:
        return len(open_lines) > 1 or ends_sentence(before.text) or is_short
    # Level with one that is indented too: dialogue, of which each line is a paragraph.
    return abs(step) <= INDENT * line.size and ends_sentence(before.text) and len(open_lines) == 1


def _is_short(before: PdfLine, line: PdfLine, right: float) -> bool:
    """Whether the next line's first word had had room."""
    word = line.text.split(" ", 1)[0]
    return before.right + (len(word) + 2) * before.letter_width < right


def _goes_on(paragraph: PdfParagraph, column: Column, following: PdfParagraph, next_column: Column) -> bool:
    """Over the end of a column."""
    before, line = paragraph.lines[-1], following.first
    if not _is_same_size(before, line) or before.is_bold != line.is_bold or before.is_table or line.is_table:
        return False
    if _LABEL.match(line.text) or _is_short(before, line, column.right):
        return line.text[:1].islower() and not ends_sentence(before.text)
    is_indented = line.left - next_column.left > INDENT * line.size
    return not is_indented and (not ends_sentence(before.text) or line.text[:1].islower())


def _joined(one: PdfParagraph, two: PdfParagraph) -> PdfParagraph:
    moved = {index + len(one.lines) for index in two.breaks}
    return PdfParagraph((*one.lines, *two.lines), one.breaks | moved)


def ends_sentence(text: str) -> bool:
    return _SENTENCE_END.search(text[-5:]) is not None


def _is_same_size(one: PdfLine, two: PdfLine) -> bool:
    return abs(one.size - two.size) <= _SAME_SIZE * max(one.size, two.size)
