"""Numbers of lists, which a document does not write down but counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lxml import etree

from reading.documents.docx.attributes import attribute, child, children

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]


class Numbering:
    """starts: the first number of each list's level that counts in figures."""

    def __init__(self, starts: Mapping[tuple[str, str], int]) -> None:
        self._starts = starts
        self._counts: Counter[tuple[str, str]] = Counter()

    def next_of(self, paragraph: _Element) -> str:
        """`3. `, or nothing where nothing is counted."""
        properties = child(paragraph, "ppr", "numpr")
        numbers, level = (
            attribute(child(properties, "numid"), "val"),
            attribute(child(properties, "ilvl"), "val") or "0",
        )
        start = self._starts.get((numbers, level))
        if start is None:
            return ""
        for deeper in range(int(level) + 1, 9):
            self._counts.pop((numbers, str(deeper)), None)
        self._counts[numbers, level] += 1
        return f"{start + self._counts[numbers, level] - 1}. "


def read_numbering(root: _Element | None) -> Numbering:
    """None for a document without lists."""
    abstract = {attribute(each, "abstractnumid"): each for each in children(root, "abstractnum")}
    starts: dict[tuple[str, str], int] = {}
    for number in children(root, "num"):
        levels = abstract.get(attribute(child(number, "abstractnumid"), "val"))
        for level in children(levels, "lvl"):
            if attribute(child(level, "numfmt"), "val") == "decimal" and attribute(level, "ilvl") in tuple("012345678"):
                start = attribute(child(level, "start"), "val")
                key = attribute(number, "numid"), attribute(level, "ilvl")
                starts[key] = int(start) if start.isdecimal() and len(start) < 7 else 1
    return Numbering(starts)
