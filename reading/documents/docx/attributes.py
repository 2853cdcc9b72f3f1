"""Values of a word processor's elements, whatever namespace they are in."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from reading.documents.markup import local_name

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]


def attribute(element: _Element | None, name: str) -> str:
    """`w:val` by `val`; "" where there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if local_name(key) == name), "")


def child(element: _Element | None, *path: str) -> _Element | None:
    """The first of that name, and in it the first of the next."""
    for name in path:
        element = next(children(element, name), None) if element is not None else None
    return element


def children(element: _Element | None, name: str) -> Iterator[_Element]:
    """name: in lower case, as all are compared."""
    if element is not None:
        yield from (each for each in element if local_name(each.tag) == name)


def is_on(element: _Element | None) -> bool:
    """Of a switch: there, and not said to be off."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off", "none")
