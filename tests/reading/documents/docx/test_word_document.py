"""Word processors' documents: what is seen on paper is read, with its chapters; what is damaged is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.documents.docx.word_document import docx_script
from reading.documents.errors import DocumentError
from reading.script.script import Script
from rhapsode.contract.jobs.input import Images
from tests.property_tests import examples
from tests.reading.documents.docx.letters import letter, paragraph, run

LIST = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="2"/></w:numPr>'
PICTURE = '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="p" descr="A green boat"/></wp:inline></w:drawing></w:r>'
CONTENTS = (
    '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
    f"<w:sdtContent>{paragraph(run('Dawn 1'))}</w:sdtContent></w:sdt>"
)
END = run("End.")
BODY = (
    paragraph(run("The Dry Mill"), "Titel")
    + CONTENTS
    + paragraph(run("Dusk 2"), "Verzeichnis1")
    + paragraph(run("Dawn"), "berschrift1")
    + paragraph(
        run("The mill ")
        + f'<w:del w:id="1">{run("never ").replace("w:t", "w:delText")}</w:del><w:ins w:id="2">{run("stood ")}</w:ins>'
        + run("secretly ", "<w:vanish/>")
        + run("and ", '<w:rStyle w:val="Secret"/>')
        + run("still", '<w:vanish w:val="0"/>')
        + '<w:r><w:footnoteReference w:id="2"/></w:r>'
        + '<w:r><w:footnoteReference w:customMarkFollows="1" w:id="3"/><w:t>*</w:t></w:r>'
        + run(", 10")
        + run("6", '<w:vertAlign w:val="superscript"/>')
        + '<w:r><w:t xml:space="preserve"> litres</w:t><w:tab/><w:t>of</w:t></w:r>'
        + "<w:r><w:instrText>PAGEREF x</w:instrText></w:r><w:hyperlink>"
        + run(" water.")
        + "</w:hyperlink>"
    )
    + paragraph(PICTURE)
    + paragraph(run("oats"), properties=LIST.format(0))
    + paragraph(run("for Ben"), properties=LIST.format(1))
    + paragraph(run("nails"), properties=LIST.format(0))
    + f"<w:tbl><w:tr><w:tc>{paragraph(run('a'))}</w:tc><w:tc>{paragraph(run('b'))}</w:tc></w:tr></w:tbl>"
    + paragraph(run("Dusk"), "Own")
    + paragraph("<w:r><w:t>The lamp was low,</w:t><w:br/><w:t>The moon was late.</w:t></w:r>")
    + paragraph(run("Night"), properties='<w:outlineLvl w:val="0"/>')
    + paragraph(
        f"<mc:AlternateContent><mc:Choice>{END}</mc:Choice><mc:Fallback>{END}</mc:Fallback></mc:AlternateContent>"
    )
)


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def test_a_document_is_read_as_it_is_seen() -> None:
    script = docx_script(letter(BODY), ())

    assert said(script) == [
        *("The Dry Mill", "Dawn", "The mill stood still, 10⁶ litres of water.", "3. oats", "for Ben", "4. nails"),
        *("a, b", "Dusk", "The lamp was low,", "The moon was late.", "Night", "End."),
    ]
    assert [(each.id, each.title) for each in script.chapters] == CHAPTERS
    assert (script.title, script.author, script.language) == ("The Dry Mill", "Ann Author", "en-GB")
    assert "A green boat." in said(docx_script(letter(BODY), (), Images.ALT))


CHAPTERS = [("2", "Dawn"), ("3", "Dusk"), ("4", "Night")]


def test_the_title_of_a_document_is_no_chapter() -> None:
    chapters = "".join(paragraph(run(name), "Own") + paragraph(run("Still it stood. " * 20)) for name in ("A", "B"))

    script = docx_script(letter(paragraph(run("The Dry Mill"), "Titel") + chapters), ())

    assert [(each.id, each.title, each.start) for each in script.chapters][:1] == [("2", "A", 0)]


def test_chapters_of_a_document_can_be_chosen() -> None:
    assert said(docx_script(letter(BODY), ("4",))) == ["Night", "End."]


def test_a_document_may_have_nothing_but_its_text() -> None:
    bare: dict[str, str | bytes] = {"word/styles.xml": "<styles/>", "docProps/core.xml": "<core/>"}

    script = docx_script(letter(paragraph(run("One.")), bare), ())

    assert (said(script), script.title, script.chapters) == (["One."], "", ())


def test_what_is_only_pictures_is_refused_with_a_code_of_its_own() -> None:
    with pytest.raises(DocumentError) as refused:
        docx_script(letter(paragraph(PICTURE)), ())

    assert (refused.value.code, refused.value.detail) == (
        "document_without_text", "the DOCX holds pictures and no text",
    )  # fmt: skip


BIG = '<w:b/><w:sz w:val="36"/>'


def test_bold_paragraphs_are_chapters_where_no_heading_is_marked_as_one() -> None:
    body = "".join(
        paragraph(run(title, BIG)) + paragraph(run("It rained. ") + run("Always.", "<w:b/>"))
        for title in ("CHAPTER ONE", "The Ferry")
    )
    plain = {"word/styles.xml": "<styles/>", "docProps/core.xml": "<core/>"}

    assert [each.title for each in docx_script(letter(body, plain), ()).chapters] == ["CHAPTER ONE", "The Ferry"]


def test_equations_are_told() -> None:
    formula = '<m:oMath xmlns:m="x"><m:r><m:t>E=mc</m:t></m:r></m:oMath>'
    script = docx_script(letter(paragraph(run("So") + formula + run(" it is."))), ())

    assert said(script) == ["So it is."]
    assert [(each.kind, each.first) for each in script.left_out] == [("formula", "“E=mc”")]


def test_a_broken_part_beside_the_text_is_told() -> None:
    script = docx_script(letter(paragraph(run("One.")), {"word/styles.xml": "no markup"}), ())

    assert said(script) == ["One."]
    assert [each.kind for each in script.repairs] == ["part that cannot be read"]


BROKEN = {
    "locked": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "locked with a password, or is a .doc"),
    "no zip": (b"{\\rtf1 Hello}", "the DOCX is not a ZIP file"),
    "cut off": (letter(BODY)[:-40], "the DOCX is not a ZIP file"),
    "no document": (letter("", {"word/document.xml": "<document/>"}), "word/document.xml of the DOCX has no body"),
    "no XML": (letter("", {"word/document.xml": "Hello"}), "word/document.xml is not well-formed XML"),
    "entities": (letter("", {"word/document.xml": '<!DOCTYPE x [<!ENTITY a SYSTEM "b">]><x/>'}), "declares entities"),
    "a bomb": (letter("", {"word/document.xml": b" " * 40_000_000}), "more than 200 times its size"),
}


@pytest.mark.parametrize(("data", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_document_is_refused_with_the_place(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as refused:
        docx_script(data, ())

    assert says in refused.value.detail
    assert refused.value.code == "unsupported_media"


@given(st.binary(max_size=300), st.integers(0, 5_000), st.integers(0, 255))
@settings(max_examples=examples(100), deadline=None)
def test_damage_anywhere_is_an_error_or_a_script(noise: bytes, at: int, value: int) -> None:
    data = bytearray(letter(BODY))
    at %= len(data)
    data[at] = value
    data[at : at + len(noise) // 8] = noise[: len(noise) // 8]

    try:
        script = docx_script(bytes(data), ())
    except DocumentError:
        return

    assert script.blocks == () or script.blocks[-1].end == len(script.text)
