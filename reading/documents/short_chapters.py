"""Chapters of a few seconds: a title page is no chapter of its own, and a part begins with its first."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from reading.documents.plain.numbering import PARTS, read_label
from reading.estimates import expected_audio_ms
from reading.script.script import Script, ScriptChapter

LEAST_MS = 5_000


def with_short_chapters_joined(script: Script) -> Script:
    """Each with the chapter behind it, whose number it gets. Where most are short (verses, entries), they stay."""
    short = _short(script)
    if len(short) * 2 >= len(script.chapters):
        return script
    chapters: list[ScriptChapter] = []
    waiting: ScriptChapter | None = None
    for index, chapter in enumerate(script.chapters):
        joined = chapter if waiting is None else _joined(waiting, chapter)
        waiting = joined if index in short else None
        if waiting is None:
            chapters.append(joined)
    return replace(script, chapters=tuple(chapters))


def _short(script: Script) -> frozenset[int]:
    """Indexes; never the last one, nor one whose next was not asked for."""
    return frozenset(
        index
        for index, (one, two) in enumerate(pairwise(script.chapters))
        if int(two.id) == int(one.id) + 1 and _is_short(script.text[one.start : two.start])
    )


def _is_short(text: str) -> bool:
    # What is so long takes longer for sure.
    return len(text) < LEAST_MS and expected_audio_ms(text) < LEAST_MS


def _joined(short: ScriptChapter, chapter: ScriptChapter) -> ScriptChapter:
    title = (
        f"{short.title}, {chapter.title}" if chapter.title and _is_part(short.title) else chapter.title or short.title
    )
    return ScriptChapter(chapter.id, title, short.start)


def _is_part(title: str) -> bool:
    label = read_label(title)
    return label is not None and label.kind in PARTS
