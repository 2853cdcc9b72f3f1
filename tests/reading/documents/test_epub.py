"""Books: read in spine order, divided by their table of contents, and refused with the reason where they are broken."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.documents.archive import resolve_name
from reading.documents.epub.book import epub_script
from reading.documents.errors import DocumentError
from reading.script.script import BlockKind, Script
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import segment_script
from rhapsode.contract.jobs.input import Pauses
from tests.property_tests import examples
from tests.reading.documents.books import NAV_ITEM, book, nav, package, page

NCX_ITEM = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
TWO = ["one.xhtml", "two.xhtml"]

NOVEL = book(
    {
        "book.opf": package(
            TWO,
            NAV_ITEM + '<item id="c" href="cover.png" media-type="image/png" properties="cover-image"/>',
        ),
        "nav.xhtml": nav(
            '<li><a href="one.xhtml">One &amp; only</a><ol><li><a href="one.xhtml#b">Part <b>two</b></a>'
            '<ol><li><a href="one.xhtml#c">too deep</a></li></ol></li></ol></li><li><a href="two.xhtml">Last</a></li>'
        ),
        "one.xhtml": page(
            "<h1>One</h1><p>First&nbsp;page<a epub:type='noteref' href='#n'>1</a>.</p>"
            "<h2 id='b'>Two</h2><p id='c'>Second <i>page</i>.</p><aside epub:type='footnote' id='n'>A note.</aside>"
        ),
        "two.xhtml": page("<p>The<br/>end &mdash; really.</p><svg><text>not read</text></svg>"),
        "cover.png": b"\x89PNG picture",
    }
)


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def test_a_book_is_read_in_order_with_its_chapters_and_its_cover() -> None:
    script = epub_script(NOVEL, ())

    assert said(script) == ["One", "First page.", "Two", "Second page.", "The end — really."]
    assert [block.kind for block in script.blocks][:3] == [BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.HEADING]
    assert [(chapter.id, chapter.title) for chapter in script.chapters] == [
        ("1", "One & only"),
        ("3", "Part two, too deep"),
        ("4", "Last"),
    ]
    assert [script.text[chapter.start :].split("\n")[0] for chapter in script.chapters] == [
        "One",
        "Two",
        "The end — really.",
    ]
    assert (script.title, script.author, script.language) == ("A Book", "Ann Author, Ben Writer", "en-GB")
    assert (script.publisher, script.date) == ("Mill Press", "1897-05-26")
    assert script.cover == b"\x89PNG picture"


def test_chapters_can_be_chosen() -> None:
    script = epub_script(NOVEL, ("1", "4"))

    assert said(script) == ["One", "First page.", "The end — really."]
    with pytest.raises(DocumentError, match="no chapter '7'; it has chapters 1 to 4"):
        epub_script(NOVEL, ("7",))


def test_the_older_table_of_contents_is_read_too() -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Alpha</text></navLabel>'
        '<content src="one.xhtml"/></navPoint><navPoint><navLabel><text>Beta</text></navLabel>'
        '<content src="two.xhtml"/></navPoint></navMap></ncx>'
    )
    files = {"book.opf": package(TWO, NCX_ITEM, ' toc="ncx"'), "toc.ncx": ncx}
    script = epub_script(book({**files, "one.xhtml": page("<p>A.</p>"), "two.xhtml": page("<p>B.</p>")}), ())

    assert [chapter.title for chapter in script.chapters] == ["Alpha", "Beta"]


def test_contents_may_wrap_their_links_and_name_parts_that_lead_nowhere() -> None:
    entries = (
        '<li><span>Part one</span><ol><li><p><a href="one.xhtml">A</a></p></li></ol></li>'
        '<li><span><a href="two.xhtml">B</a></span></li>'
    )
    files = {"book.opf": package(TWO, NAV_ITEM), "nav.xhtml": nav(entries)}
    script = epub_script(book({**files, "one.xhtml": page("<p>A.</p>"), "two.xhtml": page("<p>B.</p>")}), ())

    assert [chapter.title for chapter in script.chapters] == ["A", "B"]


LONG = (
    "The mill stood still that evening, and a small green boat lay in the dry bed of the stream, with nobody on board."
)


def chaptered(entries: str, pages: dict[str, str], extra: dict[str, str] | None = None) -> Script:
    files = {"book.opf": package(list(pages), NAV_ITEM + NCX_ITEM, ' toc="ncx"'), "nav.xhtml": nav(entries)}
    return epub_script(book(files | {name: page(body) for name, body in pages.items()} | (extra or {})), ())


def test_a_heading_without_text_is_no_chapter_and_a_part_begins_with_its_first() -> None:
    front = {"t.xhtml": "<h1>A Book</h1>", "d.xhtml": "<p>For Ben</p>", "p.xhtml": "<h1>Part One</h1>"}
    pages = front | {f"{n}.xhtml": f"<h2>{n}</h2><p>{LONG}</p>" for n in "1234"}
    titles = ["Title Page", "Dedication", "Part One", "Dawn", "Noon", "Dusk", "Night"]
    entries = "".join(f'<li><a href="{name}">{title}</a></li>' for name, title in zip(pages, titles, strict=True))

    script = chaptered(entries, pages)

    assert [(each.id, each.title) for each in script.chapters] == [
        *(("2", "Dedication"), ("4", "Part One, Dawn"), ("5", "Noon"), ("6", "Dusk"), ("7", "Night")),
    ]
    assert script.chapters[0].start == 0
    assert said(script)[:3] == ["A Book", "For Ben", "Part One"]
    assert [(each.kind, each.count, each.first) for each in script.left_out] == [
        ("chapter mark of a heading without text", 2, "“Title Page”")
    ]


TITLES = st.lists(st.text("abAB 19.,:-’éß第", min_size=1, max_size=30), min_size=1, max_size=8)


@given(TITLES, st.booleans(), st.booleans(), st.data())
def test_every_page_with_text_is_a_chapter_that_begins_where_its_heading_is_spoken(
    words: list[str], has_contents: bool, is_one_page: bool, data: st.DataObject
) -> None:
    titles = [f"T{number} {' '.join(each.split())}".strip() for number, each in enumerate(words)]
    texts = [data.draw(st.sampled_from(["No.", "It rained all day. It went on.", LONG * 4])) for _ in titles]
    bodies = [
        f'<h1 id="c{n}">{title}</h1><p>{text}</p>' for n, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]
    pages = {"all.xhtml": "".join(bodies)} if is_one_page else {f"{n}.xhtml": each for n, each in enumerate(bodies)}
    links = [f"all.xhtml#c{n}" if is_one_page else f"{n}.xhtml" for n in range(len(titles))]
    entries = "".join(f'<li><a href="{link}">{title}</a></li>' for link, title in zip(links, titles, strict=True))

    script = chaptered(entries if has_contents else "", pages)
    plan = segment_script(script, LengthRules(300, 400, min_chars=data.draw(st.sampled_from([0, 60]))), Pauses())

    assert [chapter.title for chapter in plan.chapters] == titles
    assert [
        script.text[plan.segments[chapter.first_segment].start :].startswith(chapter.title) for chapter in plan.chapters
    ] == [True] * len(titles)


def test_contents_that_lie_are_passed_over() -> None:
    pages = {"one.xhtml": f"<h2>Dawn</h2><p>{LONG}</p>", "two.xhtml": f"<h2>Dusk</h2><p>{LONG}</p>"}
    ncx = "<ncx><navMap>{}</navMap></ncx>"
    point = "<navPoint><navLabel><text>{}</text></navLabel><content src='{}'/></navPoint>"
    lost = '<li><a href="gone.xhtml">Gone</a></li><li><a href="nav.xhtml">Me</a></li>'

    told = chaptered(
        lost, pages, {"toc.ncx": ncx.format(point.format("Eve", "two.xhtml") + point.format("A", "one.xhtml"))}
    )
    untold = chaptered(lost, pages, {"toc.ncx": "<ncx><navMap><navPoint>"})
    partly = chaptered(f'{lost}<li><a href="two.xhtml#gone">Last</a></li><li><a href="one.xhtml">First</a></li>', pages)

    assert [chapter.title for chapter in told.chapters] == ["A", "Eve"]
    assert [chapter.title for chapter in untold.chapters] == ["Dawn", "Dusk"]
    assert [(each.id, each.title) for each in partly.chapters] == [("1", "First"), ("2", "Last")]


def test_a_book_of_a_thousand_chapters_has_them_all() -> None:
    body = "".join(f"<h2 id='c{n}'>{n}</h2><p>{LONG}</p>" for n in range(1, 1001))
    entries = "".join(f'<li><a href="all.xhtml#c{n}">Chapter {n}</a></li>' for n in range(1, 1001))

    assert [each.title for each in chaptered(entries, {"all.xhtml": body}).chapters] == [
        f"Chapter {n}" for n in range(1, 1001)
    ]


def test_without_contents_every_page_is_a_chapter_named_by_its_heading() -> None:
    files = {"book.opf": package(TWO), "one.xhtml": page("<h2>Dawn</h2><p>A.</p>"), "two.xhtml": page("<p>B.</p>")}

    assert [chapter.title for chapter in epub_script(book(files), ()).chapters] == ["Dawn", ""]


def test_a_page_that_is_not_well_formed_is_read_like_a_reading_system_would() -> None:
    files = {"book.opf": package(["one.xhtml"]), "one.xhtml": "<html><body><p>One<p>Two &nbsp; <b>bold</p></body>"}

    assert said(epub_script(book(files), ())) == ["One", "Two bold"]


ONE = {"book.opf": package(["one.xhtml"]), "one.xhtml": page("<p>Text.</p>")}
BOMB = page("<p>&e;</p>").replace(
    "<!DOCTYPE html>", '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY e "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
)
DRM = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#">'
    '<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/></EncryptedData></encryption>'
)
BROKEN = {
    "no zip": (b"%PDF-1.4 not a book", "not a ZIP file"),
    "cut off": (book(ONE)[:-40], "not a ZIP file"),
    "nothing in it": (b"PK\x05\x06" + bytes(18), "no file 'META-INF/container.xml'"),
    "no package": (book({"one.xhtml": page("<p>Text.</p>")}, "<container/>"), "names no package"),
    "package that is not there": (book({"one.xhtml": page("")}), "no file 'OEBPS/book.opf'"),
    "package that is cut off": (book({"book.opf": "<package>"}), "has no spine"),
    "package that is no XML": (book({"book.opf": "A book"}), "is not well-formed XML"),
    "no spine": (book({"book.opf": "<package/>"}), "has no spine"),
    "empty spine": (book({"book.opf": package([])}), "no page with text"),
    "page that is not there": (book({"book.opf": package(["one.xhtml"])}), "no file 'OEBPS/one.xhtml'"),
    "entities in a page": (book({**ONE, "one.xhtml": BOMB}), "declares entities, which"),
    "entities in UTF-16": (book({**ONE, "one.xhtml": BOMB.split("?>", 1)[1].encode("utf-16")}), "declares entities"),
    "locked": (book({**ONE, "/META-INF/encryption.xml": DRM}), "digital rights management"),
    "spine that climbs out": (
        book({**ONE, "book.opf": package(["../../../../etc/passwd"])}),
        "no file '../../../etc/passwd'",
    ),
    "too much of nothing": (book({**ONE, "one.xhtml": page(" " * 40_000_000)}), "more than 200 times its size"),
    "bytes that are no text": (book({**ONE, "one.xhtml": b"<html>\xff\xfe\x00</html>"}), "not valid utf-8"),
}


@pytest.mark.parametrize(("data", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_book_is_refused_with_the_reason(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as refused:
        epub_script(data, ())

    assert says in refused.value.detail


def test_fonts_may_be_scrambled() -> None:
    scrambled = DRM.replace("http://www.w3.org/2001/04/xmlenc#aes256-cbc", "http://www.idpf.org/2008/embedding")

    assert said(epub_script(book({**ONE, "/META-INF/encryption.xml": scrambled}), ())) == ["Text."]


def test_an_archive_of_too_many_files_is_refused() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for number in range(20_001):
            zipped.writestr(f"{number}", b"")

    with pytest.raises(DocumentError, match="20,001 files"):
        epub_script(archive.getvalue(), ())


@given(st.binary(max_size=300), st.integers(0, 5_000), st.integers(0, 255))
@settings(max_examples=examples(150), deadline=None)
def test_damage_anywhere_is_an_error_or_a_script(noise: bytes, at: int, value: int) -> None:
    data = bytearray(NOVEL)
    at %= len(data)
    data[at] = value
    data[at : at + len(noise) // 8] = noise[: len(noise) // 8]

    try:
        script = epub_script(bytes(data), ())
    except DocumentError:
        return

    assert script.blocks == () or script.blocks[-1].end == len(script.text)


@pytest.mark.parametrize(
    ("base", "href", "name"),
    [
        ("OEBPS/nav.xhtml", "text/one.xhtml#a%20b", ("OEBPS/text/one.xhtml", "a b")),
        ("OEBPS/text/one.xhtml", "../img/c.png", ("OEBPS/img/c.png", "")),
        ("OEBPS/one.xhtml", "#here", ("OEBPS/one.xhtml", "here")),
        ("one.xhtml", "../../etc/passwd", ("../../etc/passwd", "")),
    ],
)
def test_names_in_a_book_are_relative_to_where_they_stand(base: str, href: str, name: tuple[str, str]) -> None:
    assert resolve_name(base, href) == name
