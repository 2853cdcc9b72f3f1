"""Notes below a text or at its end, `[1] See the preface.`, taken out where a mark in the text leads to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reading.documents.plain.edits import Edit
from reading.documents.plain.paragraphs import TextParagraph

_NOTE = re.compile(r"(\[(?:\d{1,3}|[*†‡§]{1,3}|[A-Z])\])(?:[ \t]|:)")
_MARK = re.compile(r"(?<=[^\s\[(])\[(?:\d{1,3}|[*†‡§]{1,3}|[A-Z])\]")
_HEADINGS = frozenset({"footnotes", "notes", "endnotes", "footnote"})


def find_notes(text: str, paragraphs: Sequence[TextParagraph]) -> list[Edit]:
    marks = {match[0] for match in _MARK.finditer(text)}
    if not marks:
        return []
    notes = [index for index, each in enumerate(paragraphs) if _is_note(each, marks)]
    headed = {index - 1 for index in notes if index and _is_heading(paragraphs[index - 1])}
    return [(paragraphs[index].start, paragraphs[index].end, "") for index in sorted({*notes, *headed})]


def _is_note(paragraph: TextParagraph, marks: set[str]) -> bool:
    found = _NOTE.match(paragraph.lines[0].text)
    return found is not None and found[1] in marks


def _is_heading(paragraph: TextParagraph) -> bool:
    return paragraph.text.rstrip(".: ").casefold() in _HEADINGS
