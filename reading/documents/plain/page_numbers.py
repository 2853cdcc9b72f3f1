"""Page numbers on separate lines, recognised because they count up through the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from reading.documents.plain.edits import Edit
from reading.documents.plain.paragraphs import TextLine, TextParagraph

LEAST_PAGES = 4
LEAST_CHARS = 200
MOST_CHARS = 6_000
"""Of a page, at the median; what is closer is a list, and what is farther apart are chapters."""

_NUMBER = re.compile(r"(?:[-–—][ ]?(\d{1,4})[ ]?[-–—]|(?:Page |p\. ?)?(\d{1,4}))", re.IGNORECASE)


def find_page_numbers(text: str, paragraphs: Sequence[TextParagraph]) -> list[Edit]:
    """Edits that take them out; a sentence that goes on behind one is whole again."""
    lines = [line for paragraph in paragraphs for line in paragraph.lines]
    numbered = [
        (index, int(match[1] or match[2]))
        for index, each in enumerate(lines)
        if (match := _NUMBER.fullmatch(each.text))
    ]
    pages = _counting(numbered)
    starts = [lines[index].start for index in pages]
    gaps = [two - one for one, two in pairwise(starts)]
    if len(pages) < LEAST_PAGES or not LEAST_CHARS <= median(gaps) <= MOST_CHARS:
        return []
    return [_removal(text, lines, index) for index in pages]


def _counting(numbered: Sequence[tuple[int, int]]) -> list[int]:
    """Indexes of those that count on by one, or by the few pages that have no number."""
    kept: list[int] = []
    last = None
    for index, number in numbered:
        if last is None or 0 < number - last <= 5:
            kept.append(index)
            last = number
    return kept


def _removal(text: str, lines: Sequence[TextLine], index: int) -> Edit:
    page = lines[index]
    if 0 < index < len(lines) - 1:
        before, behind = lines[index - 1].end, lines[index + 1].start
        if text.count("\n", before, behind) == 2:
            return before, behind, "\n"
        if (text[before - 1].isalnum() or text[before - 1] in ",;-") and text[behind].islower():
            return before, behind, "\n"
    return page.start, page.end, ""
