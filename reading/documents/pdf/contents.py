"""A printed table of contents: rows that lead to pages. The outline, or the headings, say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reading.documents.pdf.columns import Column
from reading.documents.pdf.lines import PdfLine
from reading.documents.plain.contents import CONTENTS_HEADINGS

LEAST_ENTRIES = 3

_LEADER = re.compile(r"(?<![.·•…_])(?<![.·•…_][ ])(?:[.·•…_][ ]{0,2}+){3,}+(?:\d{1,5}|[ivxlc]{1,8})$", re.IGNORECASE)
_PAGE = re.compile(r"[ ](?:\d{1,5}|[ivxlc]{1,8})$")
_HEADINGS = CONTENTS_HEADINGS | {"list of figures", "list of tables"}


def without_contents(columns: Sequence[Column]) -> list[Column]:
    """Without rows of dots, and without what follows the word and ends in a number, row by row."""
    kept = {id(line) for line in _kept([line for column in columns for line in column.lines])}
    return [Column(tuple(line for line in column.lines if id(line) in kept)) for column in columns]


def named_in(columns: Sequence[Column]) -> list[Column]:
    """The rows of a table of contents without their dots and numbers of pages, each by itself as those of a table."""
    return [Column(tuple(map(_named, column.lines))) for column in columns]


def _named(line: PdfLine) -> PdfLine:
    text = _PAGE.sub("", _LEADER.sub("", line.text)).rstrip()
    return replace(line, text=text, is_table=text != line.text) if text else line


def _kept(lines: Sequence[PdfLine]) -> list[PdfLine]:
    kept: list[PdfLine] = []
    at = 0
    while at < len(lines):
        end = _end_of_contents(lines, at)
        if end > at:
            at = end
            continue
        if not _leads(lines[at].text):
            kept.append(lines[at])
        at += 1
    return kept


def _end_of_contents(lines: Sequence[PdfLine], at: int) -> int:
    """Behind a table that begins here; `at` where none does."""
    if lines[at].text.rstrip(".:").casefold() not in _HEADINGS:
        return at
    end, entries, at_entry = at + 1, 0, at
    while end < len(lines) and end - at_entry <= 2:
        if _leads(lines[end].text) or _is_entry(lines[end].text):
            entries += 1
            at_entry = end
        end += 1
    return at_entry + 1 if entries >= LEAST_ENTRIES else at


def _is_entry(text: str) -> bool:
    return text[:1].isalnum() and _PAGE.search(text[-9:]) is not None


def _leads(text: str) -> bool:
    return _LEADER.search(text[-40:]) is not None
