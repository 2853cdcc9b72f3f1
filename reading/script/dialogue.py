"""A text whose lines say who speaks: `NAME: what is said`. Pure.

Only names of the cast are labels; any other word before a colon is text. A turn ends at the next label or at a blank
line; what follows a blank line without a label is spoken by the job's own voice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reading.script.script import Block, BlockKind, Replacement, Script, VoicedSpan, Voicing, plain_script


def dialogue_script(text: str, names: Sequence[str]) -> Script:
    """The script of `text`; a label belongs to its turn and is not spoken. Case of names makes no difference."""
    if not names or not text:
        return plain_script(text)
    speakers = {name.casefold(): name for name in names}
    blocks: list[Block] = []
    labels: list[Replacement] = []
    start, speaker = 0, ""
    for match in _turns(names).finditer(text):
        label = match["name"]
        cut = match.start() if label is not None else match.end()
        blocks += _turn(start, cut, speaker)
        start, speaker = cut, ""
        if label is not None:
            speaker = speakers[" ".join(label.split()).casefold()]
            labels.append(Replacement(match.start(), match.end(), spoken="", written=""))
    blocks += _turn(start, len(text), speaker)
    return Script(text, tuple(blocks), tuple(labels))


def _turns(names: Sequence[str]) -> re.Pattern[str]:
    """Labels at the beginning of a line, and blank lines."""
    longest_first = sorted(names, key=len, reverse=True)
    known = "|".join(r"[^\S\n]+".join(re.escape(word) for word in name.split()) for name in longest_first)
    return re.compile(
        rf"^[^\S\n]*(?P<name>{known})[^\S\n]*[:：][^\S\n]*|\n(?:[^\S\n]*\n)+", re.MULTILINE | re.IGNORECASE
    )


def _turn(start: int, end: int, speaker: str) -> Iterator[Block]:
    if start < end:
        yield Block(BlockKind.PARAGRAPH, (VoicedSpan(start, end, Voicing(speaker)),))
