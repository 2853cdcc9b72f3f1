"""SSML becomes a script or is refused with its place; the table of elements is what the parser obeys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.script.script import BlockKind, Script
from reading.script.ssml import parse_ssml
from reading.script.ssml_document import SsmlError
from reading.script.ssml_subset import SSML_SUBSET
from tests.property_tests import examples


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def test_elements_are_told_apart() -> None:
    script = parse_ssml(
        '<speak xml:lang="en-US">\n  <p>One <w>word</w>\n more.</p><s>Two.</s> Tail '
        '<voice name="Bob">he <lang xml:lang="de">sagt</lang></voice><metadata><x>no</x></metadata></speak>'
    )

    assert said(script) == ["One word more.", "Two.", "Tail he sagt"]
    assert [block.kind for block in script.blocks] == [BlockKind.PARAGRAPH, BlockKind.SENTENCE, BlockKind.PARAGRAPH]
    assert (script.voices, script.languages) == (("Bob",), ("english", "german"))


def test_the_last_sentence_of_a_paragraph_ends_it() -> None:
    script = parse_ssml("<speak><p><s>One.</s><s>Two.</s></p><p>Three.</p></speak>")

    assert [block.kind for block in script.blocks] == [BlockKind.SENTENCE, BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]


@pytest.mark.parametrize(
    ("break_", "seconds"),
    [
        ('time="500ms"', 0.5),
        ('time="1.5s"', 1.5),
        ('time="+.25s"', 0.25),
        ('strength="strong"', 0.9),
        ('strength="none"', 0.0),
        ("", 0.5),
        ('time="1s"/><break time="2s"', 3.0),
    ],
)
def test_a_break_is_a_pause_behind_what_was_said(break_: str, seconds: float) -> None:
    script = parse_ssml(f"<speak>One.<break {break_}/> Two.</speak>")

    assert [span.pause_after_s for span in script.blocks[0].spans] == [seconds, None]


def test_what_is_written_and_what_is_said_may_differ() -> None:
    script = parse_ssml(
        '<speak><sub alias="World Wide Web">WWW</sub>, <say-as interpret-as="characters">a1</say-as></speak>'
    )

    assert script.text.strip() == "WWW, a1"
    assert [each.spoken for each in script.replacements] == ["World Wide Web", "a 1"]


@pytest.mark.parametrize(
    ("document", "place", "says"),
    [
        ("<speak>\n <prosody rate='x'>a</prosody></speak>", (2, 2), "'x' is no rate; write 80%"),
        ("<speak><prosody pitch='high'>a</prosody></speak>", (1, 8), "<prosody> has no attribute 'pitch'"),
        ("<speak><prosody rate='9'>a</prosody></speak>", (1, 8), "between half and twice"),
        ("<speak><prosody volume='+13dB'>a</prosody></speak>", (1, 8), "between -40 and +12 dB"),
        ("<speak><prosody>a</prosody></speak>", (1, 8), "needs the attribute rate or volume"),
        ("<speak><emphasis>a</emphasis></speak>", (1, 8), "stress of a word"),
        ("<speak><mark/></speak>", (1, 8), "<mark> needs the attribute name"),
        (f"<speak><mark name='{'x' * 201}'/></speak>", (1, 8), "at most 200 characters"),
        ("<speak><phoneme ph='x'>a</phoneme></speak>", (1, 8), "read letters"),
        ("<speak><amazon:effect/></speak>", (1, 8), "<amazon:effect> is not supported; /v1/capabilities"),
        ("<speak><p one='1'/></speak>", (1, 8), "<p> has no attribute 'one'"),
        ("<speak><break time='soon'/></speak>", (1, 8), "'soon' is no time"),
        ("<speak><break time='11s'/></speak>", (1, 8), "at most 10 s"),
        ("<speak><break strength='huge'/></speak>", (1, 8), "'huge' is no strength"),
        ("<speak><sub>x</sub></speak>", (1, 8), "<sub> needs the attribute alias"),
        ("<speak><lang xml:lang='la'>x</lang></speak>", (1, 8), "no model speaks the language 'la'"),
        ("<speak><say-as interpret-as='date'>x</say-as></speak>", (1, 8), "not as 'date'"),
        ("<speak><p><p>x</p></p></speak>", (1, 11), "<p> must not stand in"),
        ("<speak><sub alias='a'><w>x</w></sub></speak>", (1, 23), "<sub> must not hold <w>"),
        ("<p>x</p>", (1, 1), "<speak> must be the outermost"),
        ("<speak>x", (1, 9), "no element found"),
        ("<speak>&nbsp;</speak>", (1, 8), "undefined entity"),
        ('<!DOCTYPE speak [<!ENTITY a "aa">]><speak>&a;</speak>', (1, 1), "document type declaration"),
        ("<speak>" + "<w>" * 70 + "</w>" * 70 + "</speak>", (1, 8 + 63 * 3), "more than 64 deep"),
        ("plain text", (1, 1), "syntax error"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(document: str, place: tuple[int, int], says: str) -> None:
    with pytest.raises(SsmlError) as refused:
        parse_ssml(document)

    assert says in refused.value.detail
    assert (refused.value.line, refused.value.column) == place


def test_prosody_holds_for_what_it_stands_around() -> None:
    script = parse_ssml(
        '<speak>One <prosody rate="80%" volume="-6dB">two <prosody rate="+50%">three</prosody> four</prosody>.'
        '<prosody volume="silent">five <mark name="lost"/></prosody></speak>'
    )

    spans = [(script.text[span.start : span.end].strip(), span.voicing) for span in script.blocks[0].spans]
    assert [(said, each.speed, each.gain_db) for said, each in spans] == [
        ("One", 1.0, 0.0), ("two", 0.8, -6.0), ("three", 1.2, -6.0), ("four", 0.8, -6.0), (".", 1.0, 0.0),
    ]  # fmt: skip
    assert script.marks == ()


def test_marks_are_of_the_next_word_or_of_the_last_one_before_a_pause() -> None:
    script = parse_ssml(
        '<speak><mark name="a"/>One <mark name="b"/> two.<mark name="c"/><break/><mark name="d"/>'
        '<p>Three.</p><mark name="e"/></speak>'
    )

    marks = [(each.name, script.text[each.position :].split()[:1], each.is_end) for each in script.marks]
    assert marks == [
        ("a", ["One"], False), ("b", ["two."], False), ("c", ["Three."], True), ("d", ["Three."], False),
        ("e", [], True),
    ]  # fmt: skip


def test_whatever_is_not_supported_says_why() -> None:
    assert all(element.supported or element.note for element in SSML_SUBSET)


PIECES = [
    "<speak>",
    "</speak>",
    "<p>",
    "</p>",
    "<s>",
    "</s>",
    "<break/>",
    "<sub alias='x'>",
    "</sub>",
    " ",
    "word",
    ".",
    "字",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=examples(200), deadline=None)
def test_any_document_is_a_script_that_covers_its_text_or_an_error(middle: str) -> None:
    try:
        script = parse_ssml(f"<speak>{middle}</speak>")
    except SsmlError:
        return

    spans = [span for block in script.blocks for span in block.spans]
    assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
    assert script.text == "" or spans[-1].end == len(script.text)
