"""Thoughts in italics: which they are, who thinks them, and that nothing else in italics is one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.cleaning.cleaning import without_litter
from reading.dialogue.attribution import find_lines, paragraphs, propose_speakers
from reading.dialogue.proposal import Line
from reading.dialogue.quotations import quotations
from reading.dialogue.thoughts import thoughts
from reading.dialogue.voicing import voiced_script
from reading.documents.by_format import read_document
from reading.script.script import Script, plain_script
from rhapsode.contract.jobs.input import DocumentFormat
from tests.property_tests import examples
from tests.reading.documents.books import book, package, page
from tests.reading.documents.docx.letters import letter, paragraph, run

NOVEL = """
<h1>One</h1>
<p>Mary Lamb read <i>Pride and Prejudice</i> on the deck of the <i>Mary Rose</i>.</p>
<p>“Good morning,” said John Carter. He was <em>very</em> late, and all <i>sang-froid</i>.</p>
<p><i>I should never have come</i>, thought Mary. She put the book away.</p>
<p>“I told him, <i>I am no fool</i>, and he left,” said John.</p>
<p>Mary looked at the sea. <i>Why does he tell me that?</i></p>
<p><i>I know what he wants.</i></p>
<p><i>But I shall not give it to him.</i></p>
<p>“You are silent,” said John.</p>
<p><i>Stop!</i> said the sign. The letter read: <i>Come to me at noon, I beg you.</i></p>
"""
THOUGHTS = [
    ("Mary", "I should never have come,"),
    ("Mary", "Why does he tell me that?"),
    ("Mary", "I know what he wants."),
    ("Mary", "But I shall not give it to him."),
]


def novel() -> Script:
    return read_document(book({"book.opf": package(["1.xhtml"]), "1.xhtml": page(NOVEL)}), DocumentFormat.EPUB)


def found(text: str) -> list[str]:
    script = plain_script(text)
    parts = paragraphs(script)
    return [text[each.start : each.end] for each in thoughts(text, parts, quotations(text, parts), ())]


def thought_lines(script: Script) -> list[Line]:
    return [line for line in propose_speakers(script).lines if line.thought]


@pytest.mark.parametrize(
    "text",
    [
        "_I should never have come,_ she thought.",
        "_I should never have come_, she thought.",
        "_I should never have come_, Mary Lamb told herself.",
        "She sat down. _What a fool I am!_ The door closed.",
        "He thought, _much too late,_ and went.",
        "_Good God_, he thought.",
        "*I should never have come*, she thought.",
        "There was one question: _where_, thought he, _do I begin?_",
    ],
)
def test_a_sentence_or_a_clause_with_a_tag_is_a_thought(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "She read _Pride and Prejudice_ and thought of him.",
        "The _Pride of Darkhan_ was late.",
        "It was _he_ who came.",
        "_Mon Dieu!_ The door closed.",
        "He saw that he _must not_ go.",
        "The letter said: _I am well. Come to me._",
        "_Who is there?_ cried Mary.",
        "He scribbled: _I don't know. Who are you?_",
        "[_He turns to me._]",
        "_The door was closed._",
        '"He said, _I am a fool_, and left," said Mary.',
        "Before.\n\n_I am well._\n\n_I was ill._\n\n_I shall come._\n\nAfter.",
        "CHAPTER ONE\n\n_What is it that we seek?_\n\nThe door closed.",
    ],
)
def test_what_else_is_in_italics_is_none(text: str) -> None:
    assert found(text) == []


def test_one_word_in_upright_letters_is_stressed_in_a_thought() -> None:
    assert found("She sat. _I never said_ that. _I never did._ Then she rose.") == [
        "_I never said_ that. _I never did._"
    ]


def test_a_thought_over_two_paragraphs_is_one_persons() -> None:
    thought = "_I am a fool. I should\nhave known,_ thought Mary.\n\n_I know it.\n\nI do not care._"
    text = f"Mary Lamb sat down.\n\n{thought}\n\nShe rose."

    assert [line.speaker for line in thought_lines(plain_script(text))] == ["Mary Lamb"] * 3


def test_thoughts_of_a_book_have_their_thinkers() -> None:
    script = novel()

    lines = thought_lines(script)

    assert [(line.speaker.split()[0], script.text[line.start : line.end]) for line in lines] == THOUGHTS


def test_the_speakers_of_quotations_do_not_change_with_thoughts() -> None:
    script = novel()
    plain = plain_script(script.text)

    def said(script: Script) -> list[Line]:
        return [line for line in propose_speakers(script).lines if not line.thought]

    assert thought_lines(plain) == []
    assert said(script) == said(plain)


def test_a_thought_has_another_id_than_a_quotation_of_the_same_words() -> None:
    ids = [id for id, _ in find_lines(plain_script('"I am late," he said.\n\n_I am late,_ he thought.'))]

    assert len(set(ids)) == 2


def test_a_thought_is_spoken_with_its_comma_and_the_tag_is_the_narrators() -> None:
    script = without_litter(plain_script('"Go," said Tom.\n\n_I am late_, he thought.'), is_book=True)
    _, (id, _) = find_lines(script)

    voiced, num_missing = voiced_script(script, {id: "Tom"}, 0.1)

    spans = [(script.text[each.start : each.end], each.voicing.speaker) for each in voiced.blocks[0].spans]
    assert num_missing == 0
    assert spans == [('"Go," said Tom.\n\n', ""), ("_I am late_,", "Tom"), (" he thought.", "")]


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"<p>She <b>sat</b>. <em>I am</em> <i>late<br/>again.</i> Then</p><p><i>No.</i></p>", DocumentFormat.HTML),
        (b"She **sat**. *I am* _late again._ Then\n\n*No.*", DocumentFormat.MARKDOWN),
        (
            letter(
                paragraph(run("She ") + run("sat", "<w:b/>") + run(". ") + run("I am ", "<w:i/>"))[: -len("</w:p>")]
                + run("late ", "<w:i/>")
                + run("again.", "<w:b/><w:i/>")
                + run("", "")
                + run(" Then", '<w:i w:val="0"/>')
                + "</w:p>"
                + paragraph(run("No.", "<w:i/>"))
            ),
            DocumentFormat.DOCX,
        ),
    ],
)
def test_documents_keep_their_italics(data: bytes, form: DocumentFormat) -> None:
    script = read_document(data, form)

    assert " ".join(script.text.split()) == "She sat. I am late again. Then No."
    assert [" ".join(script.text[start:end].split()) for start, end in script.italics] == ["I am late again.", "No."]


def test_marks_of_italics_are_not_spoken_however_long_the_stretch() -> None:
    text = "He sat. _" + "I should never have come here. " * 40 + "It is late._\n\n_And then\n\nI went._"

    script = without_litter(plain_script(text), is_book=True)

    silent = {at for each in script.replacements if not each.spoken for at in range(each.start, each.end)}
    assert {at for at, letter in enumerate(text) if letter == "_"} == silent


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(["_", "*", '"', "I am late", "he thought", ", ", ". ", "!", "\n\n", " ", "(", "Mary"])))
def test_thoughts_are_ordered_and_apart_from_quotations(parts: list[str]) -> None:
    text = "".join(parts)
    script = plain_script(text)
    spans = paragraphs(script)

    both = [(each.start, each.end) for _, each in find_lines(script)]

    assert both == sorted(both)
    assert all(one[1] <= two[0] for one, two in pairwise(both))
    assert all(any(start <= one and end >= two for start, end in spans) for one, two in both)
