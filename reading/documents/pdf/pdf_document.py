"""A PDF to a script, by way of the HTML it stands for, as word processors' documents are read."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from lxml import etree

from reading.cleaning.cleaning import without_litter
from reading.documents.characters import clean_text
from reading.documents.errors import ONLY_PICTURES, DocumentError
from reading.documents.headings import with_bare_headings_joined
from reading.documents.page import tell_document
from reading.documents.pdf.columns import Column, columns_of
from reading.documents.pdf.contents import named_in, without_contents
from reading.documents.pdf.furniture import without_furniture, without_line_numbers
from reading.documents.pdf.headings import Passage, body_size, passages_of
from reading.documents.pdf.library import Bookmark, PdfFile
from reading.documents.pdf.lines import PdfLine, Row, rows_of
from reading.documents.pdf.paragraphs import paragraphs_of
from reading.documents.pdf.runs import PdfPage
from reading.documents.pdf.whole_words import whole_words
from reading.documents.plain.contents import spelled
from reading.documents.plain.numbering import is_part
from reading.script.left_out import LeftOutList, quoted
from reading.script.script import Script
from reading.script.text_flow import TextFlow
from rhapsode.contract.jobs.input import Images

MOST_UNKNOWN = 0.3
"""Of a document's letters whose fonts do not say what they are."""

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

_FILE_ENDS = (".doc", ".docx", ".tex", ".dvi", ".indd", ".qxd", ".rtf", ".pdf", ".htm", ".html", ".txt")
_XML_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def pdf_script(data: bytes, include: Sequence[str], images: Images = Images.SKIP) -> Script:
    """Raises `DocumentError`."""
    file = PdfFile(data)
    pages = list(file.pages())
    flow = TextFlow()
    for index in file.damaged:
        flow.repairs.add("page that is damaged", f"page {index + 1}")
    _require_text(pages, file.num_pages)
    for page in pages:
        if not page.runs:
            flow.left_out.add("page without text", f"page {page.index + 1}")
    passages = _passages(pages, flow)
    if not passages:
        raise DocumentError("all that the PDF's pages say is a running head or foot, as of a scan", ONLY_PICTURES)
    places = chapter_places(file.outline(), passages)
    root = _html_of(passages, places)
    tell_document(root, flow, include, images, {str(place): titles for place, titles in places.items()})
    script = flow.build(title=_title(file), author=_tidy(file.said("Author")), language=_tidy(file.language))
    return without_litter(with_bare_headings_joined(script), is_book=True)


def _require_text(pages: Sequence[PdfPage], num_pages: int) -> None:
    letters = sum(len(run.text) for page in pages for run in page.runs)
    if not letters:
        number = "page 1 has" if num_pages == 1 else f"pages 1 to {num_pages} have"
        raise DocumentError(f"{number} no text: the PDF holds pictures, as a scan does", ONLY_PICTURES)
    unknown = sum(len(run.text) for page in pages for run in page.runs if run.is_unknown)
    if unknown > MOST_UNKNOWN * letters:
        raise DocumentError(
            "the PDF's fonts do not say which letters they draw, so its text is a picture", ONLY_PICTURES
        )


def _passages(pages: Sequence[PdfPage], flow: TextFlow) -> list[Passage]:
    left_out = flow.left_out
    printed = [without_line_numbers(rows_of(page), left_out) for page in pages]
    rows = without_furniture(printed)
    _list_gone("running head, foot or page number", chain(*printed), chain(*rows), left_out)
    columns = [column for page in rows for column in columns_of(page) if column.lines]
    size = body_size((line.size, len(line.text)) for column in columns for line in column.lines)
    with_notes, columns = columns, without_notes(columns, size)
    _list_gone("line of a note", _lines(with_notes), _lines(columns), left_out)
    with_contents, columns = columns, [each for each in without_contents(columns) if each.lines]
    if with_contents and not columns:
        flow.repairs.add("table of contents without a book, read as text", f"page {with_contents[0].lines[0].page + 1}")
        columns = named_in(with_contents)
    else:
        _list_gone("line of contents", _lines(with_contents), _lines(columns), left_out)
    return whole_words(passages_of(paragraphs_of(columns), size))


def _lines(columns: Sequence[Column]) -> Iterator[PdfLine]:
    return chain.from_iterable(column.lines for column in columns)


def _list_gone(
    kind: str, before: Iterable[Row | PdfLine], after: Iterable[Row | PdfLine], left_out: LeftOutList
) -> None:
    kept = set(map(id, after))
    for each in before:
        if id(each) not in kept:
            text = each.line.text if isinstance(each, Row) else each.text
            left_out.add(kind, f"page {each.page + 1}, {quoted(text)}")


def _html_of(passages: Sequence[Passage], places: Mapping[int, tuple[str, ...]]) -> _Element:
    root = etree.Element("body")
    for index, passage in enumerate(passages):
        element = etree.SubElement(root, f"h{passage.level}" if passage.level else "p")
        if index in places:
            element.set("id", str(index))
        for number, text in enumerate(_verses(passage)):
            if number:
                etree.SubElement(element, "br").tail = text
            else:
                element.text = text
    return root


def _verses(passage: Passage) -> Iterator[str]:
    open_lines: list[str] = []
    for number, line in enumerate(passage.lines):
        if number in passage.breaks:
            yield " ".join(open_lines)
            open_lines = []
        open_lines.append(_XML_UNSPEAKABLE.sub(" ", line))
    yield " ".join(open_lines)


def _title(file: PdfFile) -> str:
    """Not the name of the file that it was made of."""
    title = _tidy(file.said("Title"))
    name = title.casefold()
    is_file = name == "untitled" or name.startswith("microsoft word - ") or name.endswith(_FILE_ENDS)
    return "" if is_file else title


def _tidy(text: str) -> str:
    return " ".join(clean_text(_XML_UNSPEAKABLE.sub(" ", text)).split())


SMALLER = 0.93
"""Than the text's letters."""

MOST_SHARE = 0.7
"""Of a column's lines: a page that is small as a whole has no notes."""

_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶∗]{1,3})\.?[ ]?[^\W\d_]|(?:\d{1,3}|[*†‡§¶∗]{1,3})[ ]?[\"“‘'(\[]")
_RAISED = re.compile(r"[¹²³⁰⁴-⁹]{1,3}")


def without_notes(columns: Sequence[Column], body_size: float) -> list[Column]:
    """Notes stand at the foot of a column, in smaller letters than the text above, the first behind its mark.

    Also what is left of one that began a column or a page earlier, below which the text stands again.
    """
    kept: list[Column] = []
    has_notes = False
    for column in columns:
        first = _first_small(column.lines, body_size)
        foot = column.lines[first:]
        is_note = bool(foot) and (_begins_note(foot[0]) or (has_notes and first > 0))
        if is_note and first > 0 and len(foot) <= MOST_SHARE * len(column.lines):
            has_notes = True
            kept.append(Column(column.lines[:first]))
        else:
            kept.append(column)
    return kept


def _first_small(lines: Sequence[PdfLine], body_size: float) -> int:
    """Of those at the foot."""
    first = len(lines)
    while first and lines[first - 1].size < SMALLER * body_size:
        first -= 1
    return first


def _begins_note(line: PdfLine) -> bool:
    return _MARK.match(line.text) is not None or _RAISED.match(line.text) is not None


LEAST_CHAPTERS = 2

MOST_PASSAGES = 500
"""Of a page, that are looked at for one bookmark."""

_TOLERANCE = 4.0


def chapter_places(outline: Sequence[Bookmark], passages: Sequence[Passage]) -> Mapping[int, tuple[str, ...]]:
    """By index of the passage: the chapters' titles, at the heading that says the same, else at that height.

    Nothing where the outline names fewer than two places.
    """
    places: dict[int, tuple[str, ...]] = {}
    pages = [passage.page for passage in passages]
    for bookmark in _chapters(outline):
        place = _place(bookmark, passages, bisect_left(pages, bookmark.page))
        if place is not None:
            # Of several that begin at one place, as a part and its first chapter, the last.
            places[place] = (bookmark.title,)
    return places if len(places) >= LEAST_CHAPTERS else {}


def _chapters(outline: Sequence[Bookmark]) -> Iterable[Bookmark]:
    """The first level; both where that holds parts, or the book as a whole."""
    named = [each for each in outline if each.title and each.page >= 0]
    first = [each for each in named if each.level == 1]
    has_parts = any(is_part(each.title) for each in first)
    return named if has_parts or len(first) < LEAST_CHAPTERS else first


def _place(bookmark: Bookmark, passages: Sequence[Passage], first: int) -> int | None:
    """first: the first passage of the bookmark's page, or of a later one."""
    if first == len(passages):
        return None
    wanted = spelled(bookmark.title)
    below = None
    for index in range(first, min(len(passages), first + MOST_PASSAGES)):
        passage = passages[index]
        if passage.page != passages[first].page:
            break
        said = spelled(" ".join(passage.lines)[:400])
        if passage.level and wanted and (wanted in said or (said and said in wanted)):
            return index
        if below is None and passage.top <= bookmark.top + _TOLERANCE:
            below = index
    return first if below is None else below
