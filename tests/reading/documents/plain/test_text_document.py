"""Text files as people have them: frame and litter go, chapters are found, and the rest is untouched."""

from __future__ import annotations

import pytest

from reading.cleaning.cleaning import without_litter
from reading.documents.errors import DocumentError
from reading.documents.plain.numbering import read_label
from reading.documents.plain.text_document import text_script
from reading.script.script import BlockKind, Script, plain_script
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.input import Images

PROSE = (
    "The mill stood where the road left the river, and for as long as anybody in the valley could remember its wheel\n"
    "had turned by day and by night. On the evening when our story begins it stood still, and the miller's daughter\n"
    "went out with a lantern to see what had become of the water, of which there should have been more than enough\n"
    "after so much rain; but the bed of the stream was dry, and a small green boat lay in it with nobody on board."
)

BOOK = f"""The Project Gutenberg EBook of The Dry Mill, by Ann Author

Title: The Dry Mill
Author: Ann Author
Language: English

*** START OF THIS PROJECT GUTENBERG EBOOK THE DRY MILL ***

Produced by A. Volunteer and the people
who proofread pages

THE DRY MILL

CONTENTS

BOOK THE FIRST--Water
  CHAPTER I.    The Boat ......... 1
  CHAPTER II.   A Letter ......... 16
BOOK THE SECOND--Wind
  CHAPTER I.    The Sail ......... 40

BOOK THE FIRST--Water

CHAPTER I.
The Boat

{PROSE}

[Illustration: The _boat_ in the [dry] bed]

She said it was _very_ strange.[1] "Yes," said the mil-
ler,[Pg 16] who was well-
known for his well-known silence, and the miller went in.

[1] A note at the foot
of the page.

CHAPTER II

A LETTER

{PROSE}

BOOK THE SECOND--Wind

CHAPTER I. The Sail

{PROSE}

THE END

End of the Project Gutenberg EBook of The Dry Mill, by Ann Author

*** END OF THIS PROJECT GUTENBERG EBOOK THE DRY MILL ***

START: FULL LICENSE
"""


def spoken(script: Script) -> str:
    return " ".join(SpokenText(script.text, script.replacements).text.split())


def titles(script: Script) -> list[str]:
    return [chapter.title for chapter in script.chapters]


def headings(script: Script) -> list[str]:
    return [script.text[each.start : each.end] for each in script.blocks if each.kind is BlockKind.HEADING]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_transcribed_book_is_read_without_its_frame_its_litter_and_its_contents(line_end: str) -> None:
    script = text_script(BOOK.replace("\n", line_end), ())

    prose = " ".join(PROSE.split())
    assert spoken(script) == (
        f"THE DRY MILL BOOK THE FIRST--Water CHAPTER I. The Boat {prose} "
        'She said it was very strange. "Yes," said the miller, who was well-known for his well-known silence, and the '
        f"miller went in. CHAPTER II A LETTER {prose} BOOK THE SECOND--Wind CHAPTER I. The Sail {prose} THE END"
    )
    assert (script.title, script.author, script.language) == ("The Dry Mill", "Ann Author", "en")
    assert [(each.id, each.title) for each in script.chapters] == [
        ("1", "BOOK THE FIRST--Water, CHAPTER I. The Boat"),
        ("2", "CHAPTER II: A LETTER"),
        ("3", "BOOK THE SECOND--Wind, CHAPTER I. The Sail"),
    ]
    assert headings(script) == [
        *("BOOK THE FIRST--Water", "CHAPTER I.", "The Boat", "CHAPTER II", "A LETTER"),
        *("BOOK THE SECOND--Wind", "CHAPTER I. The Sail"),
    ]


def test_blocks_cover_the_text_and_chapters_begin_at_their_headings() -> None:
    script = text_script(BOOK, ())

    spans = [span for block in script.blocks for span in block.spans]
    assert [0, *(span.end for span in spans)] == [*(span.start for span in spans), len(script.text)]
    assert [script.text[each.start :].split("\n")[0] for each in script.chapters] == [
        *("BOOK THE FIRST--Water", "CHAPTER II", "BOOK THE SECOND--Wind"),
    ]


@pytest.mark.parametrize("last", ["EPILOGUE", "Afterword."])
def test_bare_numbers_are_chapters_beside_an_epilogue_too(last: str) -> None:
    text = "\n\n\n".join(("I", PROSE, "II", PROSE, "III", PROSE, last, PROSE))

    assert [chapter.title for chapter in text_script(text, ()).chapters] == ["I", "II", "III", last.rstrip(".")]


def test_chapters_of_a_text_can_be_chosen() -> None:
    script = text_script(BOOK, ("2",))

    assert spoken(script) == f"CHAPTER II A LETTER {' '.join(PROSE.split())}"
    assert [(each.id, each.start) for each in script.chapters] == [("2", 0)]
    with pytest.raises(DocumentError, match="no chapter '4'; it has chapters 1 to 3"):
        text_script(BOOK, ("4",))
    with pytest.raises(DocumentError, match="it has no chapters"):
        text_script("Only a line.", ("1",))


def test_pictures_are_described_if_somebody_wants_it() -> None:
    assert "enough The boat in the [dry] bed She" in spoken(
        text_script("It was enough\n\n[Illustration: The _boat_ in the [dry] bed]\n\nShe left.", (), images=Images.ALT)
    )


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (("I", "II", "III"), ["I", "II", "III"]),
        (("1", "2"), ["1", "2"]),
        (("I. The Gate", "II. The Hall"), ["I. The Gate", "II. The Hall"]),
        (("PROLOGUE", "Chapter One", "Chapter Twenty-First", "Epilogue"), None),
        (("PART ONE", "I", "II", "PART TWO", "I", "II"), ["PART ONE, I", "II", "PART TWO, I", "II"]),
        (("Kapitel 1", "Kapitel 2"), None),
        # Counts nothing, or counts from the middle.
        (("II", "V"), []),
        (("MORNING", "EVENING"), []),
    ],
)
def test_headings_are_found_as_books_have_them(marks: tuple[str, ...], expected: list[str] | None) -> None:
    text = "".join(f"{mark}\n\n{'' if mark.startswith('PART') else PROSE}\n\n" for mark in marks)

    assert titles(text_script(text, ())) == (list(marks) if expected is None else expected)


@pytest.mark.parametrize(
    "text",
    [
        "Part one of the plan was easy.\n\nPart two of it was not.",
        "1. Milk\n\n2. Eggs\n\n3. Bread",
        "I. A list of things.\n\nII. And another.",
        "Act II was better than Act I, he said.\n\nChapter 3 of the book was long.",
    ],
)
def test_what_only_looks_like_a_heading_is_text(text: str) -> None:
    assert titles(text_script(text, ())) == []


def test_page_numbers_go_and_the_sentence_they_cut_goes_on() -> None:
    pages = "".join(f"Page {number} ends in the\n\n{number}\n\nmiddle. {PROSE}\n\n" for number in range(7, 12))

    script = text_script(pages, ())

    assert spoken(script) == " ".join(f"Page {n} ends in the middle. {' '.join(PROSE.split())}" for n in range(7, 12))
    assert script.chapters == ()


def test_a_text_without_wrapped_lines_has_a_paragraph_on_each() -> None:
    line = " ".join(PROSE.split())

    script = text_script(f"Chapter 1\n{line}\n{line}\nChapter 2\n{line}\n", ())

    assert titles(script) == ["Chapter 1", "Chapter 2"]
    assert script.text == f"Chapter 1\n\n{line}\n\n{line}\n\nChapter 2\n\n{line}"


def test_a_play_in_a_file_keeps_its_cast() -> None:
    script = text_script(
        f"ACT I\n\nTOM: I am _here_.\nADA: So am I.\n\n{PROSE}\n\nACT II\n\nTOM: Good-\nbye.", (), ["Tom", "Ada"]
    )

    assert titles(script) == ["ACT I", "ACT II"]
    assert [each.spans[0].voicing.speaker for each in script.blocks] == ["", "", "Tom", "Ada", "", "", "", "Tom"]
    assert spoken(script) == f"ACT I I am here. So am I. {' '.join(PROSE.split())} ACT II Goodbye."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was won- der\nful.[1] _Really_ so.", "It was wonder ful. Really so."),
        ("the won-\nder of it", "the wonder of it"),
        ("pre- and post-war", None),
        ("the house- which was big", None),
        ("North-\nSouth", "North-South"),
        ("snake_case_name, __init__ and items[0]", None),
        ("[sic] he said [laughing] to [3] of them", None),
        ("2 _ 3 _ 4", None),
    ],
)
def test_typed_text_is_right_or_untouched(text: str, expected: str | None) -> None:
    script = without_litter(plain_script(text), is_book=False)

    assert script.text == text
    assert spoken(script) == (text if expected is None else expected)


def test_a_text_that_never_divides_words_keeps_its_hyphens() -> None:
    pairs = ["mud-\nbank", "half-\ncrown", "tile-\nroof", "lead-\npipe", "night-\nwatch"]

    assert (
        spoken(text_script(" and ".join(pairs), ()))
        == "mud-bank and half-crown and tile-roof and lead-pipe and night-watch"
    )


def test_what_is_left_out_is_listed_with_its_first_words() -> None:
    assert [(each.kind, each.count, each.first) for each in text_script(BOOK, ()).left_out] == [
        ("frame of Project Gutenberg", 1, "“The Project Gutenberg EBook of The Dry M…”"),
        ("remark in brackets", 1, "“[Illustration: The _boat_ in the [dry] b…”"),
        ("note", 1, "“[1] A note at the foot of the page.”"),
        ("table of contents", 1, "“CONTENTS BOOK THE FIRST--Water CHAPTER I…”"),
    ]
    assert "remark in brackets" not in {each.kind for each in text_script(BOOK, (), images=Images.ALT).left_out}


LAMP = "灯亮了，屋子里暖和起来。夜里下了雨，河水涨到了磨坊的台阶。"


@pytest.mark.parametrize("end", ["\n", "\n\n"])
@pytest.mark.parametrize(
    "titles",
    [
        ["第一章 磨坊", "第二章 大雨", "第两百一十八章 钟楼", "第叁章 信"],
        ["序章", "第１話 水車小屋", "第2回：大雨", "エピローグ"],
        ["第一章磨坊", "第二章大雨", "尾声"],
        ["제1장 방앗간", "제2장"],
    ],
)
def test_chapters_of_east_asian_texts_are_found(titles: list[str], end: str) -> None:
    text = "".join(f"{title}{end}　　{LAMP}{end}　　第一章的内容很长。{end}" for title in titles)
    script = text_script(text, ())

    assert [chapter.title for chapter in script.chapters] == titles
    assert [script.text[chapter.start :].startswith(chapter.title) for chapter in script.chapters] == [True] * len(
        titles
    )
    assert sum(block.kind is BlockKind.HEADING for block in script.blocks) == len(titles)


@pytest.mark.parametrize(
    ("number", "value"), [("两百一十八", 218), ("叁", 3), ("十", 10), ("一二", 12), ("二十", 20), ("１２", 12)]
)
def test_east_asian_numbers_are_read(number: str, value: int) -> None:
    label = read_label(f"第{number}章")

    assert label is not None
    assert label.number == value


def test_page_numbers_in_the_middle_of_a_paragraph_are_no_part_of_it() -> None:
    pages = [f"{PROSE}\nand then {n}x went on with a long walk along the river and\n{n}" for n in range(11, 16)]
    script = text_script("\n".join(pages) + "\nEnd.", ())

    assert not any(f"\n{n}\n" in script.text for n in range(11, 16))
    assert "\n\n" not in script.text
    assert [(each.kind, each.count) for each in script.left_out] == [("page number", 5)]


def test_a_list_of_numbers_is_no_list_of_pages() -> None:
    assert text_script("Count:\n1\n2\n3\n4\n5\n6\nDone.", ()).left_out == ()


def test_line_ends_of_windows_are_no_frame() -> None:
    assert text_script("One.\r\n\r\nTwo.\r\n", ()).left_out == ()
