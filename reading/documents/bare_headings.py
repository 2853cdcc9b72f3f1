"""Headings without text: a title page is no chapter, and a part starts with its first chapter."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import pairwise

from reading.documents.plain.numbering import PARTS, read_label
from reading.estimates import expected_audio_ms
from reading.script.left_out import quoted
from reading.script.script import BlockKind, LeftOutText, Script, ScriptChapter

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
            parts += [chapter.title] if _is_part(chapter.title) else []
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


def _is_part(title: str) -> bool:
    label = read_label(title)
    return label is not None and label.kind in PARTS
