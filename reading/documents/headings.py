"""Headings of documents that mark none, from bold paragraphs; and headings that have no text under them.

A title page is no chapter, and a part starts with its first chapter.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from itertools import islice, pairwise

from lxml import etree

from reading.documents.markup import local_name
from reading.documents.page import HEADINGS
from reading.documents.plain.numbering import is_part, read_label
from reading.estimates import expected_audio_ms
from reading.script.left_out import quoted
from reading.script.script import BlockKind, LeftOutText, Script, ScriptChapter

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


LEAST_MS = 5_000
"""Of a chapter that has no title."""


def with_bare_headings_joined(script: Script) -> Script:
    """Each with the chapter after it, whose number it gets. Whatever has a title and text stays, however short."""
    bare = _bare(script)
    chapters: list[ScriptChapter] = []
    parts: list[str] = []
    start: int | None = None
    for index, chapter in enumerate(script.chapters):
        start = chapter.start if start is None else start
        if index in bare:
            parts += [chapter.title] if is_part(chapter.title) else []
        else:
            chapters.append(ScriptChapter(chapter.id, ", ".join(filter(None, (*parts, chapter.title))), start))
            parts, start = [], None
    first = next((script.chapters[index].title for index in sorted(bare)), "")
    told = (LeftOutText("chapter mark of a heading without text", len(bare), quoted(first)),) if bare else ()
    return replace(script, chapters=tuple(chapters), left_out=(*script.left_out, *told))


def _bare(script: Script) -> frozenset[int]:
    """Indexes; never the last one, nor one whose next was not asked for."""
    texts = [block.start for block in script.blocks if block.kind is not BlockKind.HEADING]
    return frozenset(
        index
        for index, (one, two) in enumerate(pairwise(script.chapters))
        if int(two.id) == int(one.id) + 1
        and (
            bisect_left(texts, one.start) == bisect_left(texts, two.start)
            or not (one.title or _lasts(script.text[one.start : two.start]))
        )
    )


def _lasts(text: str) -> bool:
    # What is so long takes longer for sure.
    return len(text) >= LEAST_MS or expected_audio_ms(text) >= LEAST_MS
