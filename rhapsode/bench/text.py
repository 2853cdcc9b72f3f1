"""Rows of cells as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

NOTHING = "-"
"""In a cell whose value is not known."""


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each column is as wide as its widest cell; cells stand at the right. All rows have as many cells."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for cells in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def cell(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)
