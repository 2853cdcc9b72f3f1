"""What a document's styles make of their paragraphs: headings, entries of a table of contents, hidden text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from reading.documents.docx.attributes import attribute, child, children, is_on

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

_HEADING = re.compile(r"heading ([1-9])")
_CONTENTS = re.compile(r"toc (?:[1-9]|heading)")
_MOST_PARENTS = 20


@dataclass(frozen=True, slots=True)
class Style:
    """level: of a heading, 1 for the document's title, 0 for a paragraph. is_silent: not read, as contents are."""

    level: int = 0
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Styles:
    """By id."""

    known: Mapping[str, Style] = field(default_factory=dict[str, Style])

    def of(self, paragraph: _Element) -> Style:
        properties = child(paragraph, "ppr")
        style = self.known.get(attribute(child(properties, "pstyle"), "val"), Style())
        level = _outline_level(properties)
        return Style(level, style.is_silent) if level else style

    def is_hidden(self, run: _Element) -> bool:
        properties = child(run, "rpr")
        style = self.known.get(attribute(child(properties, "rstyle"), "val"), Style())
        return is_on(child(properties, "vanish")) or style.is_silent


def read_styles(root: _Element | None) -> Styles:
    """None for a document without any."""
    elements = {attribute(each, "styleid"): each for each in children(root, "style")}
    return Styles({name: _style(name, elements) for name in elements})


def _style(name: str, elements: Mapping[str, _Element]) -> Style:
    """What it says itself counts, else what its parent does."""
    level, is_silent = 0, False
    for _ in range(_MOST_PARENTS):
        if (element := elements.get(name)) is None:
            break
        called = attribute(child(element, "name"), "val").casefold()
        level = level or _named_level(called) or _outline_level(child(element, "ppr"))
        is_silent = is_silent or bool(_CONTENTS.fullmatch(called)) or is_on(child(element, "rpr", "vanish"))
        name = attribute(child(element, "basedon"), "val")
    return Style(level, is_silent)


def _named_level(called: str) -> int:
    """A title stands above the first heading."""
    if called == "title":
        return 1
    match = _HEADING.fullmatch(called)
    return min(6, int(match[1]) + 1) if match else 0


def _outline_level(properties: _Element | None) -> int:
    level = attribute(child(properties, "outlinelvl"), "val")
    return min(6, int(level) + 2) if level in tuple("012345678") else 0
