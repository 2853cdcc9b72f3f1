"""Speeches of a play: paragraphs that begin with their speaker's name, as `HAMLET. To be`. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from reading.dialogue.quotations import Quotation, Span

_LABEL = re.compile(
    r"[_*]{0,2}(?P<name>[A-Z][\w’'-]{0,30}\.?(?:[ ][A-Z0-9][\w’'-]{0,30}){0,3})(?:[ ]?[\[(][^\])\n]{0,200}[\])])?"
    r"(?:[.:][_*]{0,2}|[_*]{0,2}[.:])(?:[ \n]|$)(?:\([^)\n]{0,200}\))?"
)
_DIRECTION = re.compile(r"\[[^\]]{0,500}\]")
_LEAST_SHARE = 0.4
"""Of the paragraphs: those of a play begin so."""
_LEAST_SPEECHES = 2
"""Of a name: one who speaks once is no sign of a play."""


def speeches(text: str, paragraphs: Sequence[Span]) -> tuple[list[Quotation], list[str]]:
    """What is spoken in a play, without its stage directions, and by whom; nothing for other texts."""
    labels = [_LABEL.match(text, start, end) for start, end in paragraphs]
    counts = Counter(label["name"] for label in labels if label)
    recurring = {name for name, count in counts.items() if count >= _LEAST_SPEECHES}
    if len(recurring) < 2 or sum(counts[name] for name in recurring) < _LEAST_SHARE * len(paragraphs):
        return [], []
    found: list[Quotation] = []
    names: list[str] = []
    for index, (label, (_, end)) in enumerate(zip(labels, paragraphs, strict=True)):
        if label is None or not (label["name"] in recurring or label["name"].isupper()):
            continue
        for number, (first, last) in enumerate(_spoken(text, label.end(), end)):
            found.append(Quotation(first, last, index, number > 0))
            names.append(_written(label["name"]))
    return found, names


def _spoken(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands between stage directions."""
    at = start
    for direction in (*_DIRECTION.finditer(text, start, end), None):
        stop = direction.start() if direction else end
        spoken = text[at:stop]
        if any(map(str.isalnum, spoken)):
            yield at + len(spoken) - len(spoken.lstrip()), at + len(spoken.rstrip())
        at = direction.end() if direction else end


def _written(label: str) -> str:
    """`LADY MACBETH` as `Lady Macbeth`."""
    return label.title().replace("’S", "’s").replace("'S", "'s") if label.isupper() else label
