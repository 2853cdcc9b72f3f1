"""The package of a book: what it is called, and its pages in the order in which they are read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from reading.documents.archive import Archive, resolve_name
from reading.documents.characters import clean_text, decode_markup
from reading.documents.errors import DocumentError
from reading.documents.markup import local_name, parse_xml

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"

_PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"})
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


def read_package(archive: Archive) -> Package:
    """Raises `DocumentError`."""
    _refuse_locked(archive)
    name = _package_name(archive)
    root = parse_xml(decode_markup(archive.read(name)), name)
    items = {
        item_id: _Item(
            resolve_name(name, href)[0],
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
        pages=_pages(spine, items, nav),
        nav=nav,
        ncx=_ncx(spine, items),
        cover=_cover(root, items),
        publisher=", ".join(_texts(root, "publisher")),
        date=_date(root),
    )


def _package_name(archive: Archive) -> str:
    root = parse_xml(decode_markup(archive.read(CONTAINER)), CONTAINER)
    for element in _all(root, "rootfile"):
        if path := element.get("full-path"):
            return resolve_name("", path)[0]
    raise DocumentError(f"{CONTAINER} of the EPUB names no package")


def _refuse_locked(archive: Archive) -> None:
    data = archive.find(ENCRYPTION)
    if data is None:
        return
    for element in _all(parse_xml(decode_markup(data), ENCRYPTION), "encryptionmethod"):
        if element.get("Algorithm") not in _FONT_SCRAMBLING:
            raise DocumentError("the EPUB is locked by digital rights management and cannot be read")


def _pages(spine: _Element, items: dict[str, _Item], nav: str | None) -> tuple[str, ...]:
    """Without the table of contents and what is off the main path."""
    pages: list[str] = []
    for reference in _all(spine, "itemref"):
        item = items.get(reference.get("idref") or "")
        if item is None:
            raise DocumentError(
                f"the EPUB's spine names {(reference.get('idref') or '')[:64]!r}, which it does not have"
            )
        if item.media_type in _PAGE_TYPES and item.name != nav and reference.get("linear") != "no":
            pages.append(item.name)
    if not pages:
        raise DocumentError("the EPUB's spine has no page with text")
    return tuple(pages)


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
