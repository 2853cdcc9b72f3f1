"""The table of contents of a book: where its chapters begin and what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from reading.documents.archive import Archive
from reading.documents.characters import clean_text, decode_markup
from reading.documents.epub.package import Package
from reading.documents.errors import DocumentError
from reading.documents.markup import local_name, parse_xhtml, roles_of
from reading.script.left_out import LeftOutList

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

MAX_DEPTH = 20

_TOC = frozenset({"toc", "doc-toc"})


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """fragment: id of the element where the chapter begins; "" is the top of the page."""

    title: str
    page: str
    fragment: str


def read_contents(archive: Archive, package: Package, repairs: LeftOutList) -> tuple[ContentsEntry, ...]:
    """From the navigation page, else from the NCX, whichever leads to a page of the book; empty if neither does."""
    pages = frozenset(package.pages)
    for name, read in ((package.nav, _from_nav), (package.ncx, _from_ncx)):
        try:
            if name is not None and (data := archive.find(name)) is not None:
                found = read(parse_xhtml(decode_markup(data, repairs, name), name))
                entries = tuple(ContentsEntry(title, *archive.resolve(name, href)) for title, href in found)
                if not pages.isdisjoint(entry.page for entry in entries):
                    return entries
        except DocumentError as error:
            repairs.add("table of contents that cannot be read", error.detail)
    return ()


def _from_nav(root: _Element) -> Iterator[tuple[str, str]]:
    for nav in root.iter():
        if local_name(nav.tag) == "nav" and not _TOC.isdisjoint(roles_of(nav)):
            yield from _from_list(nav, 1)
            return


def _from_list(parent: _Element, depth: int) -> Iterator[tuple[str, str]]:
    """parent: the nav element, or an item, whose list is a level below its own link."""
    if depth > MAX_DEPTH:
        return
    for item in (item for each in parent if local_name(each.tag) in ("ol", "ul") for item in each):
        link = _link(item)
        if link is not None and (href := link.get("href")):
            yield _title(link), href
        yield from _from_list(item, depth + 1)


def _link(item: _Element) -> _Element | None:
    """The item's own, which may be wrapped; not one of the list below it."""
    walk = etree.iterwalk(item, events=("start",))
    for _, element in walk:
        name = local_name(element.tag)
        if name == "a":
            return element
        if name in ("ol", "ul"):
            walk.skip_subtree()
    return None


def _from_ncx(root: _Element) -> Iterator[tuple[str, str]]:
    for element in root.iter():
        if local_name(element.tag) == "navmap":
            yield from _from_points(element, 1)
            return


def _from_points(parent: _Element, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        return
    for point in parent:
        if local_name(point.tag) != "navpoint":
            continue
        label = next((each for each in point if local_name(each.tag) == "navlabel"), None)
        content = next((each for each in point if local_name(each.tag) == "content"), None)
        if content is not None and (source := content.get("src")):
            yield _title(label) if label is not None else "", source
        yield from _from_points(point, depth + 1)


def _title(element: _Element) -> str:
    return " ".join(clean_text("".join(map(str, element.itertext()))).split())
