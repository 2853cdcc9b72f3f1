"""A book to a script: its pages in spine order, divided as its table of contents says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from lxml import etree

from reading.documents.archive import Archive
from reading.documents.chapters import ChapterWriter
from reading.documents.characters import decode_markup
from reading.documents.epub.contents import ContentsEntry, read_contents
from reading.documents.epub.package import Package, read_package
from reading.documents.errors import ONLY_PICTURES, DocumentError
from reading.documents.headings import name_bold_headings, with_bare_headings_joined
from reading.documents.markup import local_name, parse_xhtml
from reading.documents.page import HEADINGS, PageTeller, dividing_level, first_heading, heading_counts, heading_text
from reading.documents.plain.contents import CONTENTS_HEADINGS
from reading.script.left_out import LeftOutList
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

MAX_COVER_BYTES = 8 << 20
"""A larger picture is left out; players of audiobooks would not show it either."""


def epub_script(data: bytes, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    archive = Archive(data, "EPUB")
    flow = TextFlow()
    package = read_package(archive, flow)
    chapters = ChapterWriter(flow, include)
    contents = _by_page(read_contents(archive, package, flow.repairs))
    counts = Counter[int]() if contents else _counts(archive, package.pages)
    broken: list[DocumentError] = []
    for page in package.pages:
        try:
            root = _root(archive, page, flow.repairs)
        except DocumentError as error:
            broken.append(error)
            flow.repairs.add("page that cannot be read", error.detail)
            continue
        if (said := first_heading(root).rstrip(".:")).casefold() in CONTENTS_HEADINGS and heading_text(root) == said:
            flow.left_out.add("heading of a table of contents", page)
        else:
            marks = _contents_marks(root, contents.get(page, ()), chapters) if contents else {}
            marks = marks if contents else _heading_marks(root, counts, chapters)
            PageTeller(flow, chapters, images, marks).tell(root)
    chapters.check()
    script = flow.build(package.title, package.author, package.language, _cover(archive, package))
    if not script.text.strip() and not include:
        raise broken[0] if broken else DocumentError("the EPUB holds no text; its pages may be pictures", ONLY_PICTURES)
    return replace(with_bare_headings_joined(script), publisher=package.publisher, date=package.date)


def _root(archive: Archive, page: str, repairs: LeftOutList) -> _Element:
    return parse_xhtml(decode_markup(archive.read(page), repairs, page), page)


def _counts(archive: Archive, pages: Sequence[str]) -> Counter[int]:
    """The headings of a book that has no table of contents, by level."""
    counts = Counter[int]()
    for page in pages:
        with suppress(DocumentError):  # reported where the page is read
            counts += heading_counts(_root(archive, page, LeftOutList()))
    return counts


def _contents_marks(
    root: _Element, entries: Sequence[ContentsEntry], chapters: ChapterWriter
) -> dict[str, tuple[str, ...]]:
    marks: dict[str, tuple[str, ...]] = {}
    known = {each.get("id") for each in root.iter() if each.get("id")}
    for entry in entries:
        if entry.fragment in known:
            marks[entry.fragment] = (*marks.get(entry.fragment, ()), entry.title)
        else:
            chapters.write(entry.title)
    return marks


def _heading_marks(root: _Element, counts: Counter[int], chapters: ChapterWriter) -> dict[str, tuple[str, ...]]:
    """Every page begins a chapter, and so does each further heading on it of the levels that divide the book."""
    if not counts:
        name_bold_headings(root)
    level = dividing_level(counts) if counts else max(HEADINGS.values())
    headings = [each for each in root.iter() if HEADINGS.get(local_name(each.tag), 7) <= level]
    chapters.write(heading_text(headings[0]) if headings else first_heading(root))
    marks: dict[str, tuple[str, ...]] = {}
    for number, each in enumerate(headings[1:]):
        each.set("id", f"{number} {each.get('id') or ''}")
        marks[each.get("id") or ""] = (heading_text(each),)
    return marks


def _by_page(entries: Sequence[ContentsEntry]) -> dict[str, list[ContentsEntry]]:
    pages: dict[str, list[ContentsEntry]] = defaultdict(list)
    for entry in entries:
        pages[entry.page].append(entry)
    return dict(pages)


def _cover(archive: Archive, package: Package) -> bytes | None:
    if package.cover is None:
        return None
    try:
        picture = archive.find(package.cover)
    except DocumentError:
        # A book whose picture is damaged can be read aloud all the same.
        return None
    return picture if picture is not None and 0 < len(picture) <= MAX_COVER_BYTES else None
