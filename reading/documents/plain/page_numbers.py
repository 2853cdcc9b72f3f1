"""Page numbers on lines of their own: known by counting on through the text, page by page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from reading.documents.plain.edits import Edit
from reading.documents.plain.paragraphs import TextParagraph

LEAST_PAGES = 4
MOST_CHARS = 6_000
"""Of a page, at the median; what is farther apart are chapters."""

_NUMBER = re.compile(r"(?:[-–—][ ]?(\d{1,4})[ ]?[-–—]|(?:Page |p\. ?)?(\d{1,4}))", re.IGNORECASE)


def find_page_numbers(text: str, paragraphs: Sequence[TextParagraph]) -> list[Edit]:
    """Edits that take them out; a sentence that goes on behind one is whole again."""
    numbered = [(index, int(match[1] or match[2])) for index, each in enumerate(paragraphs) if (match := _number(each))]
    pages = _counting(numbered)
    starts = [paragraphs[index].start for index in pages]
    gaps = [two - one for one, two in pairwise(starts)]
    if len(pages) < LEAST_PAGES or median(gaps) > MOST_CHARS:
        return []
    return [_removal(text, paragraphs, index) for index in pages]


def _number(paragraph: TextParagraph) -> re.Match[str] | None:
    return _NUMBER.fullmatch(paragraph.lines[0].text) if len(paragraph.lines) == 1 else None


def _counting(numbered: Sequence[tuple[int, int]]) -> list[int]:
    """Indexes of those that count on by one, or by the few pages that have no number."""
    kept: list[int] = []
    last = None
    for index, number in numbered:
        if last is None or 0 < number - last <= 5:
            kept.append(index)
            last = number
    return kept


def _removal(text: str, paragraphs: Sequence[TextParagraph], index: int) -> Edit:
    page = paragraphs[index]
    if 0 < index < len(paragraphs) - 1:
        before, behind = paragraphs[index - 1].end, paragraphs[index + 1].start
        if (text[before - 1].isalnum() or text[before - 1] in ",;-") and text[behind].islower():
            return before, behind, "\n"
    return page.start, page.end, ""
