"""What printers put on every page: running heads and feet, and the numbers of pages. Known by being repeated."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from reading.documents.pdf.lines import Row
from reading.script.left_out import LeftOutList

EDGE_ROWS = 3
"""From the top of a page, and from its foot, that may be furniture."""

NEAR_PAGES = 4
"""Within so many the same words come again; left and right pages may have different ones."""

LEAST_PAGES = 3

LEAST_LINE_NUMBERS = 4
"""That count on in the margin of a page."""

_SAME_HEIGHT = 4.0
_NUMBER = re.compile(r"\d{1,5}")
_PAGE = re.compile(
    r"(?:page|seite|p\.|s\.)?[ ]?[-–—\[(|·]{0,2}[ ]?(?:(?P<number>\d{1,5})|(?P<roman>[ivxlc]{1,8}))[ ]?[-–—\])|·]{0,2}"
    r"(?:[ ]?(?:of|von|de|/)[ ]?\d{1,5})?",
    re.IGNORECASE,
)

_NUMBER_FIRST = re.compile(r"(\d{1,4})[ ]\D")
_NUMBER_LAST = re.compile(r"\D[ ](\d{1,4})$")
MOST_HEAD = 120

Place = tuple[int, int]
"""A page's place in the document, and a row's on the page."""


def without_furniture(pages: Sequence[Sequence[Row]]) -> list[list[Row]]:
    dropped = {*_repeated(pages), *_numbered(pages), *_headed(pages)}
    return [
        [row for place, row in enumerate(rows) if (index, place) not in dropped] for index, rows in enumerate(pages)
    ]


def without_line_numbers(rows: Sequence[Row], left_out: LeftOutList) -> list[Row]:
    """Without the numbers that drafts and editions of poems have in a margin: they count with the page's lines."""
    for place in (0, -1):
        numbers = {index: int(row.runs[place].text) for index, row in enumerate(rows) if _is_number_at(row, place)}
        steps = [(two - one, numbers[two] - numbers[one]) for one, two in pairwise(numbers)]
        even = sum(lines == count for lines, count in steps)
        if even >= LEAST_LINE_NUMBERS and even >= 0.8 * len(steps):
            cut = slice(1, None) if place == 0 else slice(None, -1)
            for index, number in numbers.items():
                left_out.add("line number", f"page {rows[index].page + 1}, {number}")
            shorter = [Row(row.runs[cut], row.page) if index in numbers else row for index, row in enumerate(rows)]
            rows = [row for row in shorter if row.runs]
    return list(rows)


def _is_number_at(row: Row, place: int) -> bool:
    """Alone, or apart from its line."""
    pieces = list(row.pieces())
    return len(pieces[place]) == 1 and _NUMBER.fullmatch(pieces[place][0].text) is not None


def _repeated(pages: Sequence[Sequence[Row]]) -> Iterator[Place]:
    """The same words but for their numbers, at the same height of pages near each other."""
    seen: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for index, place, row in _edges(pages):
        words = _NUMBER.sub("#", row.line.text)
        if any(letter.isalpha() for letter in words):
            seen[words.casefold()].append((index, place, row.baseline))
    for found in seen.values():
        heights: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for index, place, height in found:
            heights[round(height / _SAME_HEIGHT)].append((index, place))
            heights[round(height / _SAME_HEIGHT) + 1].append((index, place))
        for same in heights.values():
            yield from _near(same)


def _near(places: Sequence[Place]) -> Iterator[Place]:
    """Those with two others not far away."""
    pages = sorted({index for index, _ in places})
    if len(pages) < LEAST_PAGES:
        return
    kept = {
        page
        for one, two, three in zip(pages, pages[1:], pages[2:], strict=False)
        if three - one <= 2 * NEAR_PAGES
        for page in (one, two, three)
    }
    yield from ((index, place) for index, place in places if index in kept)


def _numbered(pages: Sequence[Sequence[Row]]) -> Iterator[Place]:
    """Rows of nothing but a number, that count with the pages; one at a foot also where there are few pages."""
    steps: dict[int, list[Place]] = defaultdict(list)
    for index, place, row in _edges(pages):
        match = _PAGE.fullmatch(row.line.text)
        if match is None:
            continue
        if match["roman"]:
            # A chapter's number is written in capitals.
            if row.line.text.islower():
                yield index, place
        else:
            steps[int(match["number"]) - index].append((index, place))
    yield from _counting(steps, min(LEAST_PAGES, len(pages)))


def _headed(pages: Sequence[Sequence[Row]]) -> Iterator[Place]:
    """First and last rows that begin or end in a number which counts with the pages, whatever their words."""
    steps: dict[int, list[Place]] = defaultdict(list)
    for index, rows in enumerate(pages):
        for place in {0, len(rows) - 1} if rows else ():
            text = rows[place].line.text
            match = _NUMBER_FIRST.match(text) or _NUMBER_LAST.search(text[-6:])
            if match is not None and len(text) <= MOST_HEAD:
                steps[int(match[1]) - index].append((index, place))
    yield from _counting(steps, LEAST_PAGES)


def _counting(steps: Mapping[int, Sequence[Place]], least: int) -> Iterator[Place]:
    """steps: by what a row's number is ahead of its page's place."""
    for places in steps.values():
        if len({index for index, _ in places}) >= least:
            yield from places


def _edges(pages: Sequence[Sequence[Row]]) -> Iterator[tuple[int, int, Row]]:
    for index, rows in enumerate(pages):
        for place, row in enumerate(rows):
            if place < EDGE_ROWS or place >= len(rows) - EDGE_ROWS:
                yield index, place, row
