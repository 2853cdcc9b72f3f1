"""Plays as printers set them: `MACBETH.` or `_Macb._` begins a speech, on a separate line or before its words.

A text is a play if names at such places come again and again. A character in the job's cast speaks, and its name is not
read aloud. The job's own voice reads every other name, so that listeners know who speaks. Stage directions in brackets
are the job's own voice's, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reading.documents.plain.numbering import read_label
from reading.script.script import Block, BlockKind, Replacement, Script, VoicedSpan, Voicing

LEAST_SPEECHES = 8
LEAST_NAMES = 2
LEAST_TIMES = 3
"""That a name comes, by which a play is known."""

LEAST_IN_PLAY = 2
"""That one comes in it."""

LEAST_SHARE = 0.3
"""Of what stands at the beginning of a paragraph or behind a finished line: speeches."""

_START = re.compile(
    r"^[ \t]{0,20}(?P<label>(?P<mark>_?)(?P<name>[A-Z0-9][\w’']{0,20}(?:\.?[ ][A-Z0-9][\w’']{0,20}){0,3})"
    r"(?:\.(?P=mark)|(?P=mark)\.)(?::)?)(?=[ \t\n]|\Z)",
    re.MULTILINE,
)
_LINE_END = re.compile(r"(?:[.!?:;,—–-][\"”’')\]_]{0,3}|[\])_])\Z")
_DIRECTION = re.compile(
    r"\[[^\[\]\n]{1,200}(?:\n[^\[\]\n]{1,200}){0,4}\]|\(_[^_()\n]{1,200}(?:\n[^_()\n]{1,200}){0,4}_\)"
)
_NO_NAMES = frozenset(
    {
        *("yes", "no", "oh", "ah", "o", "well", "so", "never", "nothing", "why", "what", "now", "come", "good", "true"),
        *("exit", "exeunt", "finis", "the end", "end", "curtain", "enter", "mr", "mrs", "dr", "st", "messrs", "prof"),
    }
)
"""What stands before a full stop at the beginning of paragraphs and is nobody."""

_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class _Label:
    start: int
    end: int
    name: str


def play_script(text: str, cast: Sequence[str]) -> Script | None:
    """None for what is no play."""
    labels = _labels(text)
    if labels is None:
        return None
    speakers = {_key(name): name for name in cast}
    blocks: list[Block] = []
    silent: list[Replacement] = []
    at = 0
    for label, following in zip(labels, (*labels[1:], None), strict=True):
        blocks += _spans(BlockKind.PARAGRAPH, at, label.start, "")
        at = _speech_end(text, label.end, len(text) if following is None else following.start)
        speaker = speakers.get(_key(label.name), "")
        if speaker:
            silent.append(Replacement(label.start, label.end, spoken="", written=""))
            blocks += _speech(text, label.start, at, speaker)
        else:
            blocks += _spans(BlockKind.SENTENCE, label.start, label.end, "")
            blocks += _spans(BlockKind.PARAGRAPH, label.end, at, "")
    blocks += _spans(BlockKind.PARAGRAPH, at, len(text), "")
    return Script(text, tuple(blocks), tuple(silent))


def _labels(text: str) -> list[_Label] | None:
    """Of the names that come again; None where they are too few."""
    found = [_Label(match.start("label"), match.end("label"), match["name"]) for match in _starts(text)]
    times = Counter(_key(each.name) for each in found)
    kept = [each for each in found if times[_key(each.name)] >= LEAST_TIMES]
    names = {_key(each.name) for each in kept}
    if len(kept) < LEAST_SPEECHES or len(names) < LEAST_NAMES:
        return None
    kept_starts = {each.start for each in kept}
    others = sum(1 for match in _BLANK_LINE.finditer(text) if match.end() not in kept_starts)
    # In what is a play a name may come seldom.
    found = [each for each in found if times[_key(each.name)] >= LEAST_IN_PLAY]
    return found if len(kept) >= LEAST_SHARE * (len(kept) + others) else None


def _starts(text: str) -> Iterator[re.Match[str]]:
    for match in _START.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()].rstrip(" \t")
        is_indented = match.start("label") - match.start() > 1
        begins = (
            is_indented
            or not before
            or before.endswith("\n\n")
            or _LINE_END.search(before.rstrip("\n")[-5:]) is not None
        )
        line_end = text.find("\n", match.start(), match.start() + 130)
        line = text[match.start() : line_end if line_end >= 0 else match.start() + 130].strip()
        if begins and _key(match["name"]) not in _NO_NAMES and not (_is_heading(line) or _is_heading(match["name"])):
            yield match


def _is_heading(line: str) -> bool:
    """`ACT I.`; a number alone may be the first of three witches."""
    label = read_label(line)
    return label is not None and not label.is_bare


def _key(name: str) -> str:
    """As names of the cast are compared: without full stops, marks and capitals."""
    return " ".join(name.replace(".", " ").replace("_", " ").split()).casefold()


def _speech_end(text: str, start: int, following: int) -> int:
    """At a blank line; what stands behind a name that is alone on its line belongs to it."""
    blank = _BLANK_LINE.search(text, start, following)
    if blank is not None and not text[start : blank.start()].strip():
        blank = _BLANK_LINE.search(text, blank.end(), following)
    return following if blank is None else blank.end()


def _speech(text: str, start: int, end: int, speaker: str) -> Iterator[Block]:
    """With what stands in brackets apart."""
    at = start
    for match in _DIRECTION.finditer(text, start, end):
        yield from _spans(BlockKind.PARAGRAPH, at, match.start(), speaker)
        yield from _spans(BlockKind.PARAGRAPH, match.start(), match.end(), "")
        at = match.end()
    yield from _spans(BlockKind.PARAGRAPH, at, end, speaker)


def _spans(kind: BlockKind, start: int, end: int, speaker: str) -> Iterator[Block]:
    if start < end:
        yield Block(kind, (VoicedSpan(start, end, Voicing(speaker)),))
