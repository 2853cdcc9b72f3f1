"""Letters on a page, as the rest sees them: whichever way a page is turned, its lines run to the right."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from string import ascii_lowercase as _ALPHABET


class Direction(enum.Enum):
    """Of a line of letters, as the page's own coordinates have it."""

    RIGHT = "right"
    UP = "up"
    LEFT = "left"
    DOWN = "down"
    ASLANT = "aslant"

    @staticmethod
    def of(a: float, b: float) -> Direction:
        """a, b: what a step along the line is, to the right and upwards."""
        if abs(b) <= 0.1 * abs(a):
            return Direction.RIGHT if a >= 0 else Direction.LEFT
        if abs(a) <= 0.1 * abs(b):
            return Direction.UP if b >= 0 else Direction.DOWN
        return Direction.ASLANT


@dataclass(frozen=True, slots=True)
class Run:
    """Letters without a space between them, in points from the page's left and from its foot.

    shift: 1 for what is raised above its line, -1 for what is lowered. is_unknown: its font does not say what letters
    it draws.
    """

    text: str
    left: float
    right: float
    baseline: float
    size: float
    is_bold: bool = False
    follows_space: bool = True
    direction: Direction = Direction.RIGHT
    is_unknown: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class PdfPage:
    """index: from 0. runs: in the order in which they are drawn."""

    index: int
    runs: Sequence[Run]


LEAST_SPACED = 4
"""Letters with spaces between them, that make words."""

_MOST_GAP = 2.0
"""Of the letters' size, between two words that are spaced."""


def unspaced(runs: Sequence[Run]) -> Iterator[Run]:
    """Whole words in place of letters that are set with spaces between them, as in T h e  F e r r y."""
    letters: list[Run] = []
    for run in runs:
        is_next = not letters or run.left - letters[-1].right <= _MOST_GAP * run.size
        if letters and not (is_next and _is_single(run)):
            yield from _words(letters)
            letters = []
        if _is_single(run):
            letters.append(run)
        else:
            yield run
    yield from _words(letters)


def _is_single(run: Run) -> bool:
    return len(run.text) == 1 and (run.text.isalnum() or run.text in ".,:;!?&'’-–")


def _words(letters: Sequence[Run]) -> Iterator[Run]:
    """The gaps between words are wider than those between letters."""
    text = "".join(run.text for run in letters)
    if sum(map(str.isalpha, text)) < LEAST_SPACED or not text[0].isalnum() or text.casefold() in _ALPHABET:
        yield from letters
        return
    gaps = [two.left - one.right for one, two in pairwise(letters)]
    usual = sorted(gaps)[len(gaps) // 4]
    first = 0
    for end, gap in enumerate((*gaps, math.inf), 1):
        if gap > max(1.6 * usual, usual + 0.1 * letters[0].size):
            word = "".join(run.text for run in letters[first:end])
            yield replace(letters[first], text=word, right=letters[end - 1].right)
            first = end


def turned(
    corners: tuple[float, float, float, float], origin: tuple[float, float], direction: Direction
) -> tuple[float, float, float]:
    """Left, right and baseline. corners: left, bottom, right and top."""
    left, bottom, right, top = corners
    match direction:
        case Direction.UP:
            return bottom, top, -origin[0]
        case Direction.DOWN:
            return -top, -bottom, origin[0]
        case Direction.LEFT:
            return -right, -left, -origin[1]
        case _:
            return left, right, origin[1]
