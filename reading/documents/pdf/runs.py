"""Letters on a page, as the rest sees them: whichever way a page is turned, its lines run to the right."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


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
