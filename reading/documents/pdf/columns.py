"""The order in which a page's lines are read: columns from left to right, between the lines that span them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from reading.documents.pdf.lines import PdfLine, Row
from reading.documents.pdf.runs import Run

LEAST_LINES = 8
"""Of a column."""

MOST_SPANNING = 0.4
"""Of a page's rows: with more that cross it, a gap is none between columns."""

LEAST_LETTERS = 15
"""In a column's longer lines: what is shorter are cells of a table."""

LEAST_FILLED = 0.75
"""Of a column's width, by its longer lines."""

MOST_DEPTH = 2
"""Of columns in halves of a page: four side by side."""

_BIN = 2.0
_EDGE = 0.15


@dataclass(frozen=True, slots=True)
class Column:
    """Lines in reading order. left, right: its edges, as its lines keep to them."""

    lines: tuple[PdfLine, ...]

    @property
    def left(self) -> float:
        return _most_common(line.left for line in self.lines)

    @property
    def right(self) -> float:
        return sorted(line.right for line in self.lines)[int(0.95 * (len(self.lines) - 1))]


@dataclass(frozen=True, slots=True)
class _Piece:
    runs: tuple[Run, ...]
    row: Row

    @property
    def left(self) -> float:
        return self.runs[0].left

    @property
    def right(self) -> float:
        return max(run.right for run in self.runs)


def columns_of(rows: Sequence[Row], depth: int = MOST_DEPTH) -> list[Column]:
    """Of one page, in reading order."""
    gutter = _gutter(rows) if depth else None
    if gutter is None:
        return [_column(rows)] if rows else []
    columns: list[Column] = []
    spanning: list[Row] = []
    beside: tuple[list[Row], list[Row]] = [], []
    for row in rows:
        sides = _sides(row, gutter)
        if sides is None:
            columns += _read(beside, depth)
            beside = [], []
            spanning.append(row)
            continue
        if spanning:
            columns.append(_column(spanning))
            spanning = []
        for side, place in zip(sides, beside, strict=True):
            place += side
    columns += _read(beside, depth)
    return columns + ([_column(spanning)] if spanning else [])


def _column(rows: Sequence[Row]) -> Column:
    """Without what holds nothing but a note's mark."""
    lines = (row.line for row in rows)
    return Column(tuple(line for line in lines if line.text))


def _read(beside: Sequence[Sequence[Row]], depth: int) -> Iterator[Column]:
    """What stands left and right of a gap, between two spanning lines."""
    for rows in beside:
        yield from columns_of(rows, depth - 1)


def _sides(row: Row, gutter: float) -> tuple[list[Row], list[Row]] | None:
    """None for a row with something across the gap."""
    pieces = list(row.pieces())
    if any(piece[0].left < gutter < max(run.right for run in piece) for piece in pieces):
        return None
    left = tuple(run for piece in pieces if piece[0].left < gutter for run in piece)
    right = tuple(run for piece in pieces if piece[0].left >= gutter for run in piece)
    return [Row(left, row.page)] if left else [], [Row(right, row.page)] if right else []


def _gutter(rows: Sequence[Row]) -> float | None:
    """The middle of the gap that the fewest rows cross, if what stands on its sides are two columns of text."""
    if len(rows) < LEAST_LINES:
        return None
    pieces = [_Piece(runs, row) for row in rows for runs in row.pieces()]
    start, end = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    crossed = _crossings(pieces, start, end)
    if crossed is None:
        return None
    first, last = int(_EDGE * len(crossed)), int((1 - _EDGE) * len(crossed))
    inner = crossed[first:last]
    if not inner or min(inner) > MOST_SPANNING * len(rows):
        return None
    gutter = start + _BIN * (first + _middle_of_lowest(inner) + 0.5)
    return gutter if _divides_columns(pieces, gutter, (start, end)) else None


def _crossings(pieces: Sequence[_Piece], start: float, end: float) -> list[int] | None:
    """How many pieces stand over each stretch of the page's width."""
    num_bins = int((end - start) / _BIN) + 1
    if not 10 < num_bins < 20_000:
        return None
    steps = [0] * (num_bins + 1)
    for piece in pieces:
        steps[int((piece.left - start) / _BIN)] += 1
        steps[min(num_bins, int((piece.right - start) / _BIN) + 1)] -= 1
    return list(accumulate(steps[:-1]))


def _middle_of_lowest(crossed: Sequence[int]) -> int:
    """Of the longest run of the lowest number."""
    lowest = min(crossed)
    best, run_start = (0, 0), None
    for index, value in enumerate((*crossed, lowest + 1)):
        if value == lowest:
            run_start = index if run_start is None else run_start
        elif run_start is not None:
            best = max(best, (index - run_start, run_start))
            run_start = None
    return best[1] + best[0] // 2


def _divides_columns(pieces: Sequence[_Piece], gutter: float, edges: tuple[float, float]) -> bool:
    left = [piece for piece in pieces if piece.right <= gutter]
    right = [piece for piece in pieces if piece.left >= gutter]
    return _is_column(left, gutter - edges[0]) and _is_column(right, edges[1] - gutter)


def _is_column(pieces: Sequence[_Piece], width: float) -> bool:
    """Whether its longer lines are lines of text, which fill it."""
    lines: dict[float, list[_Piece]] = {}
    for piece in pieces:
        lines.setdefault(piece.row.baseline, []).append(piece)
    if len(lines) < LEAST_LINES:
        return False
    letters = [sum(len(run.text) for piece in line for run in piece.runs) for line in lines.values()]
    widths = [max(piece.right for piece in line) - min(piece.left for piece in line) for line in lines.values()]
    return _long(letters) >= LEAST_LETTERS and _long(widths) >= LEAST_FILLED * width


def _long(lengths: Sequence[float]) -> float:
    """Of lines that are not the last of their paragraphs."""
    return sorted(lengths)[int(0.7 * len(lengths))]


def _most_common(values: Iterable[float]) -> float:
    """Of places that agree within two points; the leftmost of those that come equally often."""
    counts: dict[int, list[float]] = {}
    for value in values:
        counts.setdefault(round(value / 2), []).append(value)
    return min(max(counts.values(), key=lambda found: (len(found), -found[0])))
