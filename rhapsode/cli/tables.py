"""Rows on standard output: a table on a terminal, otherwise lines with tabs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from rhapsode.cli.visible import echo


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows with a cell for each heading. Cells are never cut, so that they can be copied."""
    if not sys.stdout.isatty():
        for row in rows:
            echo("\t".join(row))
        return
    from rich.cells import cell_len

    lines = table(headings, rows) if rows else []
    is_wide = max(map(cell_len, lines), default=0) > shutil.get_terminal_size().columns
    for line in _blocks(headings, rows) if is_wide else lines:
        echo(line)


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """For a table wider than the terminal: a line for each cell, and an empty line between rows."""
    width = max(map(len, headings))
    blocks = [[f"{name:<{width}}  {cell}" for name, cell in zip(headings, row, strict=True)] for row in rows]
    return "\n\n".join("\n".join(block) for block in blocks).split("\n")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for the headings and one for each row. Each column as wide as its widest cell; cells stand left."""
    from rich.cells import cell_len, set_cell_size

    whole = [headings, *rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*whole, strict=True)]
    padded = ([set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)] for row in whole)
    return ["  ".join(cells).rstrip() for cells in padded]
