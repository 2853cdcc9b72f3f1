"""Headings of documents that mark none: paragraphs in bold as a whole, too short for sentences."""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree

from reading.documents.markup import local_name
from reading.documents.page import HEADINGS
from reading.documents.plain.numbering import read_label

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

MOST_CHARS = 100
MOST_PIECES = 20
"""Of text, and elements, that are looked at in a paragraph."""

_BOLD = re.compile(r"\bbold\b|font-weight[ ]{0,4}:[ ]{0,4}(?:bold|[6-9]00)", re.IGNORECASE)
_SENTENCE_ENDS = (".", ",", ";", ":", "!", "?", "…", '"', "”", "’", "»", ")")


def name_bold_headings(root: _Element) -> None:
    """Where a document has headings, or more bold paragraphs than others, nothing is changed."""
    if any(local_name(each.tag) in HEADINGS for each in root.iter()):
        return
    paragraphs = [each for each in root.iter() if local_name(each.tag) == "p"]
    found = [each for each in paragraphs if _is_heading(each)]
    if len(found) * 2 <= len(paragraphs):
        for each in found:
            each.tag = "h2"


def _is_heading(paragraph: _Element) -> bool:
    bold = next((each for each in islice(paragraph.iter(), MOST_PIECES) if _is_bold(each)), None)
    text = _text(paragraph)
    if bold is None or not text or len(text) > MOST_CHARS or _text(bold) != text:
        return False
    return read_label(text) is not None or (text[0].isalnum() and not text.endswith(_SENTENCE_ENDS))


def _is_bold(element: _Element) -> bool:
    marks = f"{element.get('class') or ''} {element.get('style') or ''}"
    return local_name(element.tag) in ("b", "strong") or _BOLD.search(marks) is not None


def _text(element: _Element) -> str:
    return " ".join("".join(islice(map(str, element.itertext()), MOST_PIECES)).split())
