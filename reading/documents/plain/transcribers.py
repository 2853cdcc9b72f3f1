"""Transcribers' notes about their work at the start or end of a text, without brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reading.documents.plain.edits import Edit
from reading.documents.plain.paragraphs import TextParagraph

MOST_CHARS = 6_000
"""From the head, or from the end: what stands deeper in a text belongs to it."""

_BEGINS = re.compile(r"[\W_]{0,8}transcriber['’]?s?['’]? notes?\b(?P<rest>.?)", re.IGNORECASE)
_ITEM = re.compile(r"[*•·–—-][ ]|\(?\d{1,3}[.)][ ]|p(?:age|\.)[ ]\d", re.IGNORECASE)


def find_transcribers_notes(text: str, paragraphs: Sequence[TextParagraph]) -> Iterator[Edit]:
    for index, paragraph in enumerate(paragraphs):
        if _BEGINS.match(paragraph.text) is None:
            continue
        if paragraph.start > len(text) - MOST_CHARS and index > len(paragraphs) // 2:
            yield paragraph.start, len(text), ""
            return
        if paragraph.start < MOST_CHARS:
            yield paragraph.start, paragraphs[_last(paragraphs, index)].end, ""


def _last(paragraphs: Sequence[TextParagraph], first: int) -> int:
    """Of a note at the head: the heading's own paragraph, the one below it if that is all it is, and its items."""
    last = first
    match = _BEGINS.match(paragraphs[first].text)
    is_heading = match is not None and not paragraphs[first].text[match.end() :].strip(" :.-=*_")
    if is_heading and first + 1 < len(paragraphs):
        last += 1
    while last + 1 < len(paragraphs) and _ITEM.match(paragraphs[last + 1].text):
        last += 1
    return last
