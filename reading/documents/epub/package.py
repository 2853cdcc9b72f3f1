"""The package of a book: what it is called, and its pages in the order in which they are read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from reading.documents.archive import Archive
from reading.documents.characters import clean_text, decode_markup
from reading.documents.errors import DocumentError
from reading.documents.markup import local_name, parse_xml
from reading.script.builder import ScriptBuilder

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"

_PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"})
_PAGE_NAMES = (".xhtml", ".html", ".htm", ".xht", ".xml")
_PICTURE_TYPES = frozenset({"image/jpeg", "image/png"})
_OPF_EVENT = "{http://www.idpf.org/2007/opf}event"
_EVENTS = ("publication", "original-publication", "")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")
_FONT_SCRAMBLING = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Fonts under these are scrambled to mark where they belong; the text is not locked."""


@dataclass(frozen=True, slots=True)
class Package:
    """pages, nav, ncx, cover: names in the archive; nav and ncx are tables of contents, None if there is none."""

    title: str
    author: str
    language: str
    pages: tuple[str, ...]
    nav: str | None
    ncx: str | None
    cover: str | None
    publisher: str
    date: str


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    media_type: str
    properties: frozenset[str]

    @property
    def is_page(self) -> bool:
        """By its type, or by its name where its maker gave it an odd one."""
        is_named = self.name.lower().endswith(_PAGE_NAMES) and self.media_type != "application/x-dtbncx+xml"
        return self.media_type in _PAGE_TYPES or is_named


def read_package(archive: Archive, told: ScriptBuilder) -> Package:
    """told: receives what is broken, and what is off the main path. Raises `DocumentError`."""
    _refuse_locked(archive)
    name = _package_name(archive)
    root = parse_xml(decode_markup(archive.read(name), told.repairs, name), name, told.repairs)
    items = {
        item_id: _Item(
            archive.resolve(name, href)[0],
            (element.get("media-type") or "").lower(),
            frozenset((element.get("properties") or "").split()),
        )
        for element in _all(root, "item")
        if (item_id := element.get("id")) and (href := element.get("href"))
    }
    spine = next(iter(_all(root, "spine")), None)
    if spine is None:
        raise DocumentError("the EPUB's package has no spine, which would say what is read in which order")
    nav = next((item.name for item in items.values() if "nav" in item.properties), None)
    return Package(
        title=_first(root, "title"),
        author=", ".join(_texts(root, "creator")),
        language=_first(root, "language"),
        pages=_pages(spine, items, nav, told),
        nav=nav,
        ncx=_ncx(spine, items),
        cover=_cover(root, items),
        publisher=", ".join(_texts(root, "publisher")),
        date=_date(root),
    )


def _package_name(archive: Archive) -> str:
    data = archive.find(CONTAINER)
    root = None if data is None else parse_xml(decode_markup(data), CONTAINER)
    paths = () if root is None else (element.get("full-path") for element in _all(root, "rootfile"))
    named = [archive.resolve("", path)[0] for path in paths if path]
    if found := next((name for name in named if archive.find(name) is not None), archive.find_ending(".opf")):
        return found
    if data is None or named:
        raise DocumentError(f"the EPUB has no file {(named or [CONTAINER])[0][:200]!r}")
    raise DocumentError(f"{CONTAINER} of the EPUB names no package")


def _refuse_locked(archive: Archive) -> None:
    data = archive.find(ENCRYPTION)
    if data is None:
        return
    for element in _all(parse_xml(decode_markup(data), ENCRYPTION), "encryptionmethod"):
        if element.get("Algorithm") not in _FONT_SCRAMBLING:
            raise DocumentError("the EPUB is locked by digital rights management and cannot be read")


def _pages(spine: _Element, items: dict[str, _Item], nav: str | None, told: ScriptBuilder) -> tuple[str, ...]:
    """Without the table of contents and what is off the main path; with that, where there is nothing else."""
    pages: dict[str, bool] = {}
    for reference in _all(spine, "itemref"):
        name = reference.get("idref") or ""
        item = items.get(name)
        if item is None:
            told.repairs.add("page that the EPUB's spine names and its list of files lacks", repr(name[:64]))
        elif item.is_page and item.name != nav:
            pages.setdefault(item.name, reference.get("linear") != "no")
    if not pages:
        raise DocumentError("the EPUB's spine has no page with text")
    main = tuple(name for name, is_main in pages.items() if is_main)
    if not main:
        return tuple(pages)
    for name in pages.keys() - set(main):
        told.left_out.add("page off the main path", name)
    return main


def _ncx(spine: _Element, items: dict[str, _Item]) -> str | None:
    named = items.get(spine.get("toc") or "")
    if named is not None:
        return named.name
    return next((item.name for item in items.values() if item.media_type == "application/x-dtbncx+xml"), None)


def _cover(root: _Element, items: dict[str, _Item]) -> str | None:
    marked = next((item for item in items.values() if "cover-image" in item.properties), None)
    if marked is None:
        named = next((meta.get("content") for meta in _all(root, "meta") if meta.get("name") == "cover"), None)
        marked = items.get(named or "")
    return marked.name if marked is not None and marked.media_type in _PICTURE_TYPES else None


def _date(root: _Element) -> str:
    """Of publication; a book may also say when it was written or last changed."""
    dates = [(element.get(_OPF_EVENT) or "", "".join(map(str, element.itertext()))) for element in _all(root, "date")]
    ranked = sorted(dates, key=lambda each: _EVENTS.index(each[0]) if each[0] in _EVENTS else len(_EVENTS))
    found = next((match for _, text in ranked if (match := _DATE.match(text.strip()))), None)
    return found[0] if found else ""


def _first(root: _Element, name: str) -> str:
    return next(iter(_texts(root, name)), "")


def _texts(root: _Element, name: str) -> list[str]:
    found = (" ".join(clean_text("".join(map(str, element.itertext()))).split()) for element in _all(root, name))
    return [text for text in found if text]


def _all(root: _Element, name: str) -> list[_Element]:
    return [element for element in root.iter() if local_name(element.tag) == name]
