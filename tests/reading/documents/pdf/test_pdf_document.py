"""PDFs: what a page's reader reads is spoken, in that order; what is no text is refused by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.documents.errors import DocumentError
from reading.documents.pdf import library
from reading.documents.pdf.pdf_document import pdf_script
from reading.script.script import Script
from tests.property_tests import examples
from tests.reading.documents.pdf.papers import BOLD, Set, column, paper

WORDS = (
    "the miller came down to the river and looked at the water for a long while before he spoke to anybody there "
    "about what he had seen in the night when the rain fell on the roof and the old wheel turned by itself again "
)


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def prose(number: int, first: str = "", width: int = 75, skip: int = 0) -> list[str]:
    """So many full lines, and a short last one. skip: words, so that pages differ."""
    words = f"{' '.join(WORDS.split()[skip:])} {WORDS * 20}"
    text = f"{first} {words}" if first else words
    lines: list[str] = []
    while len(lines) < number - 1:
        cut = text.rfind(" ", 0, width)
        lines.append(text[:cut])
        text = text[cut + 1 :]
    return [*lines, "in the end."]


def test_lines_become_paragraphs_without_what_stands_around_them() -> None:
    pages = [
        [
            Set(72, 760, f"THE DRY MILL {page + 1}", 8),
            *column(prose(12, "On a new page", skip=7 * page), y=700),
            *column(prose(4 + page, "  Ann said nothing, for", skip=7 * page), y=556),
            Set(300, 30, str(page + 1), 8),
        ]
        for page in range(4)
    ]

    blocks = said(pdf_script(paper(pages), ()))

    assert len(blocks) == 8
    assert blocks[0].startswith("On a new page the miller")
    assert blocks[0].endswith("in the end.")
    assert blocks[1].startswith("Ann said nothing")
    assert not any("DRY MILL" in block or re.search(r"\d", block) for block in blocks)


def test_a_sentence_goes_on_over_the_end_of_a_page() -> None:
    lines = prose(40)[:-1]

    blocks = said(pdf_script(paper([column(lines[:20]), column(lines[20:])]), ()))

    assert blocks == [" ".join(lines)]


def test_columns_are_read_one_after_the_other_below_what_spans_them() -> None:
    left, right = prose(20, "Left column:", 42), prose(20, "Right column:", 42)
    page = [
        Set(150, 740, "A title that stands over both of the columns", 18),
        *column(left, x=60, y=690),
        *column(right, x=320, y=684),
    ]

    assert said(pdf_script(paper([page]), ())) == [
        "A title that stands over both of the columns",
        " ".join(left),
        " ".join(right),
    ]


def test_divided_words_are_whole_and_note_marks_powers_and_notes_are_told_apart() -> None:
    page = [
        *column(["He thought that the won-", "der was his, and his sister-", "in-law had a sister too, a", "well-"]),
        *column(["known one of 10"], y=672),
        Set(143, 676, "6", 6),
        *column([" litres."], x=146, y=672),
        *column(["She wondered, as is well known, and well", "about the wonder."], y=640),
        Set(160, 632, "3", 6),
        *column(prose(8), y=600),
        Set(72, 104, "3", 5),
        *column(["See the preface, where it is", "explained."], x=76, y=100, size=7, leading=9),
    ]

    text = " ".join(said(pdf_script(paper([page]), ())))

    assert "the wonder was his, and his sister-in-law had a sister too, a well-known one" in text
    assert "10\u2076 litres." in text
    assert "about the wonder. the miller" in text
    assert "preface" not in text


def test_headings_make_chapters() -> None:
    page = [
        *column(["CHAPTER I"], y=720, size=12, font=BOLD),
        *column(["The Wheel"], y=700, size=16),
        *column(prose(8), y=670),
        *column(["CHAPTER II"], y=500, size=12, font=BOLD),
        *column(["The River"], y=480, size=16),
        *column(prose(8), y=450),
    ]
    script = pdf_script(paper([page], {"Title": "The Dry Mill", "Author": "Ann Author"}, catalog="/Lang(en-GB)"), ())

    assert [(each.id, each.title) for each in script.chapters] == [
        ("1", "CHAPTER I The Wheel"),
        ("2", "CHAPTER II The River"),
    ]
    assert (script.title, script.author, script.language) == ("The Dry Mill", "Ann Author", "en-GB")
    assert said(script)[:2] == ["CHAPTER I", "The Wheel"]
    assert said(pdf_script(paper([page]), ("2",)))[0] == "CHAPTER II"


def test_the_outline_names_the_chapters() -> None:
    pages = [[*column([title], size=14), *column(prose(9), y=690)] for title in ("Dawn", "Interlude", "Dusk")]

    script = pdf_script(paper(pages, {"Title": "mill.docx"}, [("Dawn", 0), ("Dusk", 2)]), ())

    assert [each.title for each in script.chapters] == ["Dawn", "Dusk"]
    assert script.text[script.chapters[1].start :].startswith("Dusk")
    assert script.title == ""


def test_a_lists_marks_are_seen_and_not_read() -> None:
    page = column(["\u2022 One thing, and", "  more of it.", "\u2022 Another.", "\u2014 No, he said."])

    assert said(pdf_script(paper([page]), ())) == ["One thing, and more of it.", "Another.", "\u2014 No, he said."]


def test_an_entry_whose_other_lines_are_indented_is_one_paragraph() -> None:
    lines = prose(3, "tight: notes too are set like this, in", 60)

    page = column([lines[0], *(f"   {line}" for line in lines[1:])])

    assert said(pdf_script(paper([page]), ())) == [" ".join(lines)]


def test_accents_that_were_drawn_apart_stand_on_their_letters() -> None:
    page = column(["Das n\u00a8achste Geb\u00a8aude fiel \u00a8 auf, caf\u00b4e, it\u00b4s."])

    assert said(pdf_script(paper([page]), ())) == ["Das n\u00e4chste Geb\u00e4ude fiel auf, caf\u00e9, it\u00b4s."]


def test_an_outline_that_loops_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [[*column([title], size=14), *column(prose(9), y=690)] for title in ("Dawn", "Dusk")]
    data = paper(pages, outline=[("Dawn", 0), ("Dusk", 1), ("Dawn", 0)])
    monkeypatch.setattr(library, "MAX_BOOKMARKS", 50)

    script = pdf_script(data.replace(b"/Next 17 0 R", b"/Next 15 0 R"), ())

    assert [each.title for each in script.chapters] == ["Dawn", "Dusk"]


def test_contents_and_verse() -> None:
    contents = column(["Contents", "Dawn ............ 1", "Noon ............ 2", "Dusk ............ 3"], leading=14)
    verse = column(["The lamp was low,", "The moon was late,", "And nobody came to the gate.", *prose(9)], y=600)

    assert said(pdf_script(paper([[*contents, *verse]]), ()))[:3] == [
        "The lamp was low,",
        "The moon was late,",
        "And nobody came to the gate.",
    ]


ENCRYPTED = paper([column(["Secret."])]).replace(
    b"/Info 5 0 R",
    b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">>>/ID[<00><00>]",
)
REFUSED = {
    "a scan": (paper([[], []]), "document_without_text", "pages 1 to 2 have no text: the PDF holds pictures"),
    "locked": (ENCRYPTED, "unsupported_media", "the PDF is locked with a password; save it without one"),
    "no PDF": (b"{\\rtf1 Hello}", "unsupported_media", "the file is not a PDF, or a damaged one"),
    "empty": (b"", "unsupported_media", "the file is not a PDF, or a damaged one"),
    "no pages": (paper([]), "unsupported_media", "the PDF has 0 pages"),
}


@pytest.mark.parametrize(("data", "code", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_read_is_refused_in_a_line(data: bytes, code: str, says: str) -> None:
    with pytest.raises(DocumentError) as refused:
        pdf_script(data, ())

    assert (refused.value.code, says in refused.value.detail) == (code, True), refused.value.detail


def test_too_many_pages_and_letters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = paper([column(["One."]), column(["Two."])])
    monkeypatch.setattr(library, "MAX_CHARS", 5)
    with pytest.raises(DocumentError, match="more than 5 characters up to page 2"):
        pdf_script(data, ())
    monkeypatch.setattr(library, "MAX_PAGES", 1)
    with pytest.raises(DocumentError, match="the PDF has 2 pages; 1 to 1 are read"):
        pdf_script(data, ())


BOOK: Sequence[Sequence[Set]] = [[*column(["Dawn"], size=14), *column(prose(9), y=690)]] * 3
WHOLE = paper(BOOK, {"Title": "T"}, [("Dawn", 0), ("Dusk", 2)])


@given(st.binary(min_size=1, max_size=40), st.integers(0, len(WHOLE) - 1))
@settings(max_examples=examples(100), deadline=None)
def test_damage_anywhere_is_an_error_or_a_script(noise: bytes, at: int) -> None:
    data = WHOLE[:at] + noise + WHOLE[at + len(noise) :]

    try:
        script = pdf_script(data, ())
    except DocumentError:
        return

    assert script.blocks == () or script.blocks[-1].end == len(script.text)


def test_what_is_left_out_is_listed_with_its_page() -> None:
    pages = [
        [
            *column(["THE DRY MILL"], y=760, size=8),
            *column(prose(12 + page, skip=7 * page), y=700),
            *column([f"* A note of {word}."], y=90, size=7),
        ]
        for page, word in enumerate(("oats", "mills", "boats"))
    ]

    assert [(each.kind, each.count, each.first) for each in pdf_script(paper(pages), ()).left_out] == [
        ("running head, foot or page number", 3, "page 1, “THE DRY MILL”"),
        ("line of a note", 3, "page 1, “* A note of oats.”"),
    ]


BESIDE = [
    "he lamp was lit, and the room grew warm about them while they",
    "talked of the letter that had come that day,",
]
BELOW = [
    "Rain came in the night, and the river rose to the lowest step of the",
    "mill, where nobody had been for years.",
]


@pytest.mark.parametrize("lines", [2, 3])
def test_a_large_first_letter_is_the_first_of_its_line(lines: int) -> None:
    beside = [*BESIDE, "There was more in it than they had thought, and it was late,"][:lines]
    foot = 700 - 12 * (lines - 1)
    letters = [Set(72, foot, "T", 17 * lines), *column(beside, x=72 + 11 * lines, y=700), *column(BELOW, y=foot - 12)]

    text = " ".join(said(pdf_script(paper([letters]), ())))
    assert text.startswith(f"The {' '.join(beside)[3:]} Rain came in the night")


def test_pages_of_nothing_but_a_foot_are_a_scan() -> None:
    pages = [[Set(72, 40, "Downloaded by reader 4711 on 2026-01-02", 8), Set(300, 20, str(n), 8)] for n in range(1, 5)]

    with pytest.raises(DocumentError, match="running head or foot") as refused:
        pdf_script(paper(pages), ())
    assert refused.value.code == "document_without_text"


@pytest.mark.parametrize(
    "entry", ["{title} {dots} {page}", "{title}{dots}{page}", "{title} {page}"], ids=["apart", "dots", "no dots"]
)
def test_a_table_of_contents_alone_is_read_and_told(entry: str) -> None:
    titles = ["1. The Ferry", "2. A Narrow Bridge", "3. Home", "4. The Letter"]
    rows = [entry.format(title=title, dots="." * 40, page=7 * n) for n, title in enumerate(titles, 1)]
    script = pdf_script(paper([[Set(72, 740, "Contents", 18), *column(rows, leading=20)]]), ())

    assert said(script) == ["Contents", *titles]
    told = [(each.kind, each.first) for each in script.repairs]
    assert told == [("table of contents without a book, read as text", "page 1")]


@pytest.mark.parametrize("gap", [" ", "  "])
@pytest.mark.parametrize("title", ["THE FERRY", "The Ferry", "Home", "A Man’s Word, 1915"])
def test_letters_that_are_set_with_spaces_between_them_are_words(title: str, gap: str) -> None:
    spaced = (gap * 3).join(gap.join(word) for word in title.split())
    pages = [[Set(72, 740, spaced, 18), *column(prose(12), y=700)], [*column(prose(12, skip=30))]]
    script = pdf_script(paper(pages), ())

    assert script.chapters[0].title == title


def test_single_letters_of_another_kind_stay_apart() -> None:
    lines = ["A B C D E F", "The answer is a or b, x y z.", "I am a - b"]
    text = " ".join(said(pdf_script(paper([column(lines, leading=40)]), ())))

    assert text == "A B C D E F The answer is a or b, x y z. I am a - b"


def test_a_page_without_text_among_others_is_told() -> None:
    script = pdf_script(paper([column(BELOW), [], column(BELOW)]), ())

    assert [(each.kind, each.count, each.first) for each in script.left_out] == [("page without text", 1, "page 2")]


@pytest.mark.parametrize(("step", "x"), [(1, 40.0), (1, 560.0), (5, 40.0)])
def test_numbers_of_lines_in_a_margin_are_no_text(step: int, x: float) -> None:
    lines = [f"{word} stood by the river and looked at the mill for a long time" for word in MILLERS]
    numbers = [Set(x, 700 - 12 * n, str(n + 1), 8) for n in range(len(lines)) if (n + 1) % step == 0]
    script = pdf_script(paper([[*column(lines, y=700), *numbers]]), ())

    assert not any(letter.isdigit() for letter in script.text)
    assert all(word in script.text for word in MILLERS)
    assert [(each.kind, each.count) for each in script.left_out] == [("line number", len(numbers))]


MILLERS = [f"{first}{second}" for first in ("An", "Be", "Co", "Da", "El") for second in ("na", "la", "ro", "mi", "di")]
