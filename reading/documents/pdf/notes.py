"""Notes at the foot of a column: in smaller letters than the text above, the first behind its mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reading.documents.pdf.columns import Column
from reading.documents.pdf.lines import PdfLine

SMALLER = 0.93
"""Than the text's letters."""

MOST_SHARE = 0.7
"""Of a column's lines: a page that is small as a whole has no notes."""

_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶∗]{1,3})\.?[ ]?[^\W\d_]|(?:\d{1,3}|[*†‡§¶∗]{1,3})[ ]?[\"“‘'(\[]")
_RAISED = re.compile(r"[¹²³⁰⁴-⁹]{1,3}")


def without_notes(columns: Sequence[Column], body_size: float) -> list[Column]:
    """Also what is left of one that began a column or a page earlier, below which the text stands again."""
    kept: list[Column] = []
    has_notes = False
    for column in columns:
        first = _first_small(column.lines, body_size)
        foot = column.lines[first:]
        is_note = bool(foot) and (_begins_note(foot[0]) or (has_notes and first > 0))
        if is_note and first > 0 and len(foot) <= MOST_SHARE * len(column.lines):
            has_notes = True
            kept.append(Column(column.lines[:first]))
        else:
            kept.append(column)
    return kept


def _first_small(lines: Sequence[PdfLine], body_size: float) -> int:
    """Of those at the foot."""
    first = len(lines)
    while first and lines[first - 1].size < SMALLER * body_size:
        first -= 1
    return first


def _begins_note(line: PdfLine) -> bool:
    return _MARK.match(line.text) is not None or _RAISED.match(line.text) is not None
