"""Words as one writes them: ligatures are letters, and what was divided at a line's end is in one piece."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from reading.cleaning.parted_words import find_divided
from reading.documents.pdf.headings import Passage
from reading.documents.plain.edits import Edit, edited

_LETTERS = str.maketrans({"\u2010": "-", "\u2011": "-", "\u00ad": "-"})
"""A soft hyphen that was drawn is seen."""

_ACCENTS = dict(
    zip("\u00a8\u02c6\u02dc\u02da\u02c7\u00b8\u00b4", "\u0308\u0302\u0303\u030a\u030c\u0327\u0301", strict=True)
)
"""Those that stand by themselves, and those that stand on letters."""

_ACCENTED = re.compile("([\u00a8\u02c6\u02dc\u02da\u02c7\u00b8]|\u00b4(?=[aeiouyAEIOUY]))([A-Za-z])")
_STRAY_ACCENT = re.compile("[ ][\u00a8\u02c6\u02dc\u02da\u02c7\u00b8](?=[ ]|$)")

_PASSAGE_END = "\n\n"
_JOIN = "\x00"
_LINE_END = re.compile(r"(?P<left>[^\W\d_]{1,30})-\n(?=[^\W_])")
_WORD = re.compile(r"[^\W\d_]+")
_UPPER_BEHIND = re.compile(r"\n[^\W\d_a-z]")


def whole_words(passages: Sequence[Passage]) -> list[Passage]:
    if not passages:
        return []
    text = _PASSAGE_END.join("\n".join(_spelled(line) for line in passage.lines) for passage in passages)
    text = edited(text, _dictionary_edits(text))
    whole = edited(text, _other_edits(text)).split(_PASSAGE_END)
    return [_rejoined(passage, lines) for passage, lines in zip(passages, whole, strict=True)]


def _spelled(line: str) -> str:
    """Old fonts draw an accent and then its letter; one that stands apart from every letter is drawn and not read."""
    composed = _ACCENTED.sub(_composed, line.translate(_LETTERS))
    # A line may have been nothing else, and keeps its place.
    return _STRAY_ACCENT.sub("", composed) or composed


def _composed(match: re.Match[str]) -> str:
    whole = unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])
    return whole if len(whole) == 1 else match.group()


def _dictionary_edits(text: str) -> Iterator[Edit]:
    """What text files have too; a mark for each line's end that went."""
    for each in find_divided(text):
        yield each.start, each.end, each.spoken + _JOIN * text.count("\n", each.start, each.end)


def _other_edits(text: str) -> Iterator[Edit]:
    """A hyphen at a printed line's end is never followed by a space: the text's other words say whether it stays."""
    words = Counter(word.casefold() for word in _WORD.findall(text))
    for match in _LINE_END.finditer(text):
        left = match["left"].casefold()
        is_own = words[left] > 1 or _UPPER_BEHIND.match(text, match.end() - 1) is not None
        yield match.end("left"), match.end(), ("-" if is_own else "") + _JOIN


def _rejoined(passage: Passage, text: str) -> Passage:
    """A mark counts for the line whose end went, so that breaks stay where they were."""
    lines: list[str] = []
    breaks: set[int] = set()
    at = 0
    for line in text.split("\n"):
        if at in passage.breaks:
            breaks.add(len(lines))
        lines.append(line.replace(_JOIN, ""))
        at += 1 + line.count(_JOIN)
    return Passage(tuple(lines), frozenset(breaks), passage.level, passage.page, passage.top)
