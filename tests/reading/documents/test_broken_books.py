"""Books that are not as they should be, after public reports: what can be read is read, and the rest is told."""

from __future__ import annotations

import pytest

from reading.documents.epub.book import epub_script
from reading.documents.errors import DocumentError
from reading.script.script import Script
from tests.reading.documents.books import NAV_ITEM, book, nav, package, page

LAMP = "The lamp was lit and the room grew warm about them as they talked of it."
RAIN = "Rain came in the night and the river rose to the lowest step of the mill."
ONE, TWO = page(f"<h1>Chapter One</h1><p>{LAMP}</p>"), page(f"<h1>Chapter Two</h1><p>{RAIN}</p>")
NAMES = ["a.xhtml", "b.xhtml"]
ALL = ["Chapter One", LAMP, "Chapter Two", RAIN]


def spoken(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def titles(script: Script) -> list[str]:
    return [chapter.title for chapter in script.chapters]


def read(files: dict[str, str | bytes], opf: str = "") -> Script:
    return epub_script(book({"book.opf": opf or package(list(files)), **files}), ())


def repaired(script: Script) -> list[tuple[str, str]]:
    return [(each.kind, each.first) for each in script.repairs]


def said(body: str) -> list[str]:
    return spoken(read({"a.xhtml": page(body)}))


def test_a_page_that_is_missing_is_told_and_the_others_are_read() -> None:
    script = read({"a.xhtml": ONE, "b.xhtml": TWO}, package(["a.xhtml", "gone.xhtml", "b.xhtml"]))

    assert (spoken(script), titles(script)) == (ALL, ["Chapter One", "Chapter Two"])
    assert repaired(script) == [("page that cannot be read", "the EPUB has no file 'OEBPS/gone.xhtml'")]


@pytest.mark.parametrize(
    ("href", "name"),
    [
        ("Text/a.xhtml", "/OEBPS\\Text\\a.xhtml"),
        ("Text\\a.xhtml", "Text/a.xhtml"),
        ("Chapter%201.xhtml", "Chapter%201.xhtml"),
        ("Chapter%201.xhtml", "Chapter 1.xhtml"),
        ("Chapter 1.xhtml", "Chapter%201.xhtml"),
        ("text/A.XHTML", "Text/a.xhtml"),
        ("caf%C3%A9.xhtml", "cafe\u0301.xhtml"),
        ("100%.xhtml", "100%.xhtml"),
    ],
)
def test_names_are_found_as_makers_of_books_write_them(href: str, name: str) -> None:
    entries = f'<li><a href="{href}">First</a></li><li><a href="b.xhtml">Second</a></li>'
    files = {"book.opf": package([href, "b.xhtml"], NAV_ITEM), "nav.xhtml": nav(entries), name: ONE, "b.xhtml": TWO}
    script = epub_script(book(files), ())

    assert (spoken(script), titles(script), repaired(script)) == (ALL, ["First", "Second"], [])


def test_pages_in_the_spine_that_nobody_knows_are_told() -> None:
    opf = package(NAMES).replace("<spine>", '<spine><itemref idref="x"/>')
    script = read({"a.xhtml": ONE, "b.xhtml": TWO}, opf)

    assert spoken(script) == ALL
    assert repaired(script) == [("page that the EPUB's spine names and its list of files lacks", "'x'")]


@pytest.mark.parametrize("media_type", ["text/plain", "", "application/xml", "application/octet-stream"])
def test_a_page_with_an_odd_type_is_a_page_by_its_name(media_type: str) -> None:
    opf = package(NAMES).replace("application/xhtml+xml", media_type)

    assert spoken(read({"a.xhtml": ONE, "b.xhtml": TWO}, opf)) == ALL


def test_pages_off_the_main_path_are_told_and_read_where_there_are_no_others() -> None:
    some = package(NAMES).replace('idref="p1"', 'idref="p1" linear="no"')
    nothing_else = package(NAMES).replace("<itemref", '<itemref linear="no"')
    files: dict[str, str | bytes] = {"a.xhtml": ONE, "b.xhtml": TWO}

    assert spoken(read(files, nothing_else)) == ALL
    assert spoken(read(files, some)) == ALL[:2]
    assert [(each.kind, each.first) for each in read(files, some).left_out] == [
        ("page off the main path", "OEBPS/b.xhtml")
    ]


def test_a_byte_that_is_wrong_is_read_as_an_old_program_wrote_it() -> None:
    data = page(f"<h1>Chapter One</h1><p>She had been to the caf@. {LAMP}</p>").encode().replace(b"@", b"\xe9")
    script = read({"a.xhtml": data})

    assert spoken(script)[1].startswith("She had been to the café.")
    assert repaired(script) == [("text that is not utf-8, read as cp1252", "byte 218 of OEBPS/a.xhtml")]


def test_a_package_with_a_bare_ampersand_is_read() -> None:
    script = read({"a.xhtml": ONE, "b.xhtml": TWO}, package(NAMES).replace("A Book", "Salt & Smoke"))

    assert (script.title, spoken(script)) == ("Salt & Smoke", ALL)
    assert repaired(script)[0][0] == "file that is not well-formed XML, read as far as it goes"


def test_a_package_is_found_without_its_container() -> None:
    files = {"book.opf": package(NAMES), "a.xhtml": ONE, "b.xhtml": TWO}

    assert spoken(epub_script(book(files, "<container/>"), ())) == ALL


@pytest.mark.parametrize("quote", ['"', "'"])
def test_short_entities_of_a_page_are_read(quote: str) -> None:
    declared = f"<!DOCTYPE html [<!ENTITY mill {quote}the old mill{quote}> <!ENTITY e {quote}&#233;{quote}>]>"
    body = page("<p>At &mill; a caf&e; stood; &nbsp;&amp; no more.</p>").replace("<!DOCTYPE html>", declared)

    assert spoken(read({"a.xhtml": body})) == ["At the old mill a café stood; & no more."]


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY a "lol"><!ENTITY b "&a;&a;">',
        f'<!ENTITY a "{"x" * 200}">',
        '<!ENTITY % a "b">',
    ],
)
def test_other_entities_cost_their_page_alone(declared: str) -> None:
    bomb = page("<p>&a;</p>").replace("<!DOCTYPE html>", f"<!DOCTYPE html [{declared}]>")
    script = read({"a.xhtml": ONE, "b.xhtml": bomb})

    assert spoken(script) == ALL[:2]
    assert "declares entities, which" in repaired(script)[0][1]


def test_entities_that_make_a_page_grow_without_end_are_refused() -> None:
    bomb = page(f"<p>{'&a;' * 20_000}</p>").replace("<!DOCTYPE html>", f'<!DOCTYPE html [<!ENTITY a "{"x" * 99}">]>')
    with pytest.raises(DocumentError, match="declares entities"):
        read({"a.xhtml": bomb})


def test_all_levels_of_the_contents_are_chapters() -> None:
    entries = (
        '<li><a href="a.xhtml">Volume One</a><ol><li><a href="a.xhtml#b1">Book One</a><ol>'
        '<li><a href="a.xhtml#c1">Chapter 1</a></li><li><a href="a.xhtml#c2">Chapter 2</a></li></ol></li></ol></li>'
    )
    body = (
        f'<h1>Volume One</h1><section id="b1"><h2>Book One</h2><section id="c1"><h3>Chapter 1</h3><p>{LAMP}</p>'
        f'</section><section id="c2"><h3>Chapter 2</h3><p>{RAIN}</p></section></section>'
    )
    files: dict[str, str | bytes] = {"nav.xhtml": nav(entries), "a.xhtml": page(body)}
    script = read(files, package(["a.xhtml"], NAV_ITEM))

    assert titles(script) == ["Volume One, Book One, Chapter 1", "Chapter 2"]
    assert script.text[script.chapters[1].start :].startswith("Chapter 2")


def test_several_headings_of_a_page_are_chapters_and_a_lone_word_contents_is_none() -> None:
    script = read(
        {
            "a.xhtml": page("<h1>Table of Contents</h1>"),
            "b.xhtml": page(
                f"<h1>Chapter One</h1><p>{LAMP}</p><h2>a</h2><p>{LAMP}</p><h1>Chapter Two</h1><p>{RAIN}</p>"
            ),
        }
    )

    assert titles(script) == ["Chapter One", "Chapter Two"]
    assert [script.text[each.start :].split("\n")[0] for each in script.chapters] == titles(script)
    assert [each.kind for each in script.left_out] == ["heading of a table of contents"]


@pytest.mark.parametrize(
    "heading", ["<p><b>{}</b></p>", "<p><span class='bold'>{}</span></p>", "<p style='font-weight: bold'>{}</p>"]
)
def test_bold_paragraphs_are_headings_where_a_book_has_no_others(heading: str) -> None:
    bodies = [f"{heading.format(title)}<p>{LAMP}</p><p><b>No!</b></p>" for title in ("CHAPTER ONE.", "The Ferry")]
    script = read({"a.xhtml": page("".join(bodies))})

    assert titles(script) == ["CHAPTER ONE.", "The Ferry"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<p><span class="figleft"><img src="t.jpg" alt="T"/></span>he lamp was lit.</p>', ["The lamp was lit."]),
        ('<p><img class="dropcap" src="o.jpg" alt="O"/>nce more.</p>', ["Once more."]),
        ('<div class="figleft"><img src="t.jpg" alt="T"/></div>\n<p>HE lamp was lit.</p>', ["THE lamp was lit."]),
        ('<p><span class="dropcap">T</span> he lamp was lit.</p>', ["The lamp was lit."]),
        ('<p class="drop-cap">T</p><p>he lamp was lit.</p>', ["The lamp was lit."]),
        ('<p><span class="initial">A</span> lamp was lit.</p>', ["A lamp was lit."]),
        ('<p><span class="dropcap">“T</span>he lamp!”</p>', ["“The lamp!”"]),
        ('<p>Here: <img alt="a map"/> end.</p>', ["Here: end."]),
    ],
)
def test_a_decorated_first_letter_goes_with_its_word(body: str, words: list[str]) -> None:
    assert said(body) == words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('north<a class="calibre5" href="b.xhtml#n1">1</a> with', "north with"),
        ('river.<span class="super"><a href="b.xhtml#n2">2</a></span> Nobody', "river. Nobody"),
        ('followed<sup class="calibre7">3</sup> them', "followed them"),
        ('slept<a href="b.xhtml#n4"><sup>[*4]</sup></a> on', "slept on"),
        ('on.<sup><a href="b.xhtml#n5">(5)</a></sup> It', "on. It"),
        ("<i>Mill</i><sup>2</sup> stood", "Mill stood"),
        ("an area is r<sup>2</sup> on the 4<sup>th</sup> of", "an area is r² on the 4th of"),
        ("10<sup>6</sup> and E=mc<sup>2</sup> and 5 km<sup>2</sup> and sin<sup>2</sup> x", None),
        ('page <a href="#p5">5</a> and chapter <a href="#c2">2</a>', "page 5 and chapter 2"),
    ],
)
def test_marks_of_notes_are_not_read_and_powers_are(body: str, words: str | None) -> None:
    assert said(f"<p>{body}</p>") == [words or "10⁶ and E=mc² and 5 km² and sin² x"]
