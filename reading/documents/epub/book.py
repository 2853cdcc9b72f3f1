"""A book to a script: its pages in spine order, divided as its table of contents says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from reading.documents.archive import Archive
from reading.documents.chapters import ChapterWriter
from reading.documents.characters import decode_markup
from reading.documents.epub.contents import ContentsEntry, read_contents
from reading.documents.epub.package import Package, read_package
from reading.documents.errors import ONLY_PICTURES, DocumentError
from reading.documents.markup import parse_xhtml
from reading.documents.page import PageChapterMarks, first_heading, tell_page
from reading.documents.short_chapters import with_short_chapters_joined
from reading.script.builder import ScriptBuilder
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images

MAX_COVER_BYTES = 8 << 20
"""A larger picture is left out; players of audiobooks would not show it either."""


def epub_script(data: bytes, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    archive = Archive(data, "EPUB")
    package = read_package(archive)
    builder = ScriptBuilder()
    flow = TextFlow(builder)
    chapters = ChapterWriter(flow, include)
    contents = _by_page(read_contents(archive, package))
    for page in dict.fromkeys(package.pages):
        _tell(archive, page, flow, chapters, contents, images)
    chapters.check()
    script = builder.build(package.title, package.author, package.language, _cover(archive, package))
    if not script.text.strip() and not include:
        raise DocumentError("the EPUB holds no text; its pages may be pictures", ONLY_PICTURES)
    return replace(with_short_chapters_joined(script), publisher=package.publisher, date=package.date)


def _tell(
    archive: Archive,
    page: str,
    flow: TextFlow,
    chapters: ChapterWriter,
    contents: dict[str, list[ContentsEntry]],
    images: Images,
) -> None:
    """One page. A book without a table of contents has a chapter for every page."""
    root = parse_xhtml(decode_markup(archive.read(page)), page)
    marks: dict[str, tuple[str, ...]] = {}
    known = {each.get("id") for each in root.iter() if each.get("id")}
    for entry in contents.get(page, ()):
        if entry.fragment in known:
            marks[entry.fragment] = (*marks.get(entry.fragment, ()), entry.title)
        else:
            chapters.begin(entry.title)
    if not contents:
        chapters.begin(first_heading(root))
    tell_page(root, flow, chapters, PageChapterMarks(ids=marks), images)


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
