"""SSML of other vendors: what can be read is read, in order; what is lost is listed with its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.script.left_out import MOST_KINDS
from reading.script.lenient_ssml import Abilities, lenient_script
from reading.script.script import Script
from reading.script.ssml_document import SsmlError
from reading.script.ssml_subset import SSML_SUBSET, Lenient
from tests.property_tests import examples

AMAZON = """<?xml version="1.0"?>
<!DOCTYPE speak PUBLIC "-//W3C//DTD SYNTHESIS 1.0//EN" "http://www.w3.org/TR/speech-synthesis/synthesis.dtd">
<speak>
  <amazon:auto-breaths><prosody rate="slow" pitch="+5%">Slowly <emphasis level="strong">now</emphasis>.</prosody>
  </amazon:auto-breaths><mark name="here"/><amazon:effect name="whispered">Hush!</amazon:effect>
  <prosody volume="silent">not heard</prosody><p><s>One.</s><p>Two.</p></p>
  <voice name="Joanna">I am <phoneme alphabet="ipa" ph="x">Joanna</phoneme>.</voice><voice name="Tom">And Tom.</voice>
  <say-as interpret-as="expletive">darn</say-as> <say-as interpret-as="Digits">12</say-as>
  <say-as interpret-as="date" format="mdy">soon</say-as>
</speak>"""
GOOGLE = """<speak><par><media xml:id="a"><speak>First.</speak></media><media begin="a.end"><audio src="x.ogg">
<desc>a cat</desc>Meow</audio></media></par> <sub>WWW</sub> <sub alias="sea">C</sub><break time="15s"/>
<break strength="odd"/> <lang xml:lang="tlh">Qapla</lang> <lang xml:lang="de-DE">gut</lang></speak>"""
AZURE = """<speak version="1.0" xmlns:mstts="https://www.w3.org/2001/mstts" xml:lang="en-US"><mstts:backgroundaudio
src="x"/><voice name="en-US-JennyNeural"><mstts:express-as style="sad" styledegree="2">Oh <bookmark mark="x"/>no.
</mstts:express-as></voice></speak>"""


def spelled(kind: str, _form: str, text: str, _language: str) -> str | None:
    return f"<{text}>" if kind == "digits" else None


ABLE = Abilities(("Tom",), ("english", "german"), spelled)


def said(script: Script) -> list[str]:
    return [script.text[block.start : block.end].strip() for block in script.blocks]


def left_out(script: Script) -> dict[str, int]:
    return {each.kind: each.count for each in script.left_out}


def test_amazons_are_read() -> None:
    script = lenient_script(AMAZON, ABLE)

    assert said(script) == ["Slowly now. Hush!", "One.", "Two.", "I am Joanna. And Tom. 12 soon"]
    assert left_out(script) == {
        "amazon:auto-breaths": 1, "prosody pitch": 1, "emphasis": 1, "amazon:effect": 1,
        "prosody volume silent": 1, "voice Joanna": 1, "phoneme": 1, "say-as expletive": 1, "say-as date": 1,
    }  # fmt: skip
    assert script.left_out[1].first == "line 4, column 24"
    spans = [span for block in script.blocks for span in block.spans]
    assert [script.text[span.start : span.end] for span in spans if span.voicing.speed == 0.8] == ["Slowly now."]
    assert [(mark.name, script.text[mark.position :].split()[0]) for mark in script.marks] == [("here", "Hush!")]
    assert [each.spoken for each in script.replacements] == ["<12>"]
    assert {span.voicing.speaker for block in script.blocks for span in block.spans} == {"", "Tom"}


def test_googles_are_read() -> None:
    script = lenient_script(GOOGLE, ABLE)

    assert said(script) == ["First.", "Meow WWW C Qapla gut"]
    assert left_out(script) == {
        "par": 1, "media": 2, "audio": 1, "sub": 1, "break time": 1, "break strength": 1, "language tlh": 1,
    }  # fmt: skip
    pauses = [span.pause_after_s for block in script.blocks for span in block.spans if span.pause_after_s]
    assert pauses == [10.5]
    assert [span.voicing.language for block in script.blocks for span in block.spans][-1] == "german"


def test_azures_are_read() -> None:
    script = lenient_script(AZURE, ABLE)

    assert said(script) == ["Oh no."]
    assert left_out(script) == {
        "mstts:backgroundaudio": 1, "voice en-US-JennyNeural": 1, "mstts:express-as": 1,
    }  # fmt: skip
    assert [(mark.name, script.text[mark.position :].strip()) for mark in script.marks] == [("x", "no.")]


@pytest.mark.parametrize(
    ("attributes", "voicing", "lost"),
    [
        ("rate='300%'", (2.0, 0.0), ["prosody rate"]),
        ("rate='brisk' volume='-100dB'", (1.0, -40.0), ["prosody rate", "prosody volume"]),
        ("volume='0'", (1.0, -40.0), ["prosody volume"]),
        ("contour='(0%,+20Hz)' rate='+10%'", (1.1, 0.0), ["prosody contour"]),
        ("", (1.0, 0.0), ["prosody"]),
    ],
)
def test_prosody_is_done_as_nearly_as_it_can_be(attributes: str, voicing: tuple[float, float], lost: list[str]) -> None:
    script = lenient_script(f"<speak><prosody {attributes}>So.</prosody><mark/></speak>", ABLE)

    (span,) = script.blocks[0].spans
    assert (span.voicing.speed, span.voicing.gain_db) == voicing
    assert list(left_out(script)) == [*lost, "mark"]


def test_every_element_of_the_table_is_read_as_it_says() -> None:
    for element in SSML_SUBSET:
        document = f"<speak xmlns:mstts='m'>One. <{element.name}>two</{element.name}></speak>"
        script = lenient_script(document, Abilities())
        is_spoken = element.lenient in (Lenient.READ, Lenient.TEXT)
        assert ("two" in script.text) == is_spoken, element.name
        if element.lenient in (Lenient.TEXT, Lenient.SKIPPED):
            assert element.name in left_out(script)
        elif element.lenient is Lenient.SILENT or not element.lenient_attributes:
            assert not script.left_out


def test_any_voice_may_be_known_later() -> None:
    script = lenient_script('<speak><voice name="Joanna">Hi.</voice></speak>', Abilities())

    assert (script.blocks[0].spans[0].voicing.speaker, script.left_out) == ("Joanna", ())


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("<speak>One", "line 1, column 11: no element found"),
        ("<speak>One & two</speak>", "not well-formed"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><speak>&a;</speak>', "must not declare anything"),
        (f"<speak>{'<p>' * 70}", "nested more than 64 deep"),
        ("", "no element found"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(document: str, says: str) -> None:
    with pytest.raises(SsmlError, match=says):
        lenient_script(document, ABLE)


def test_a_list_of_what_is_lost_ends() -> None:
    script = lenient_script(f"<speak>{''.join(f'<x{number}/>' for number in range(9 * MOST_KINDS))}</speak>", ABLE)

    assert (len(script.left_out), sum(left_out(script).values())) == (MOST_KINDS, 9 * MOST_KINDS)


def element(name: str, attributes: str, parts: list[str]) -> str:
    return f"<{name}{attributes}>{''.join(parts)}</{name}>"


NAMES = st.sampled_from(
    ["p", "s", "break", "sub", "say-as", "voice", "prosody", "audio", "desc", "x:y", "lang", "speak"]
)
ATTRIBUTES = st.sampled_from(
    ["", " name='Tom'", " alias='b'", " interpret-as='digits'", " time='-1s'", " volume='silent'"]
)
TREES = st.recursive(
    st.text("ab .\n", max_size=5),
    lambda inner: st.builds(
        element,
        NAMES, ATTRIBUTES, st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)  # fmt: skip


@given(TREES)
@settings(max_examples=examples(200), deadline=None)
def test_any_tree_is_a_script(tree: str) -> None:
    script = lenient_script(f"<speak>{tree}</speak>", ABLE)

    assert script.blocks == () or script.blocks[-1].end == len(script.text)
    assert all(one.end == two.start for one, two in zip(script.blocks, script.blocks[1:], strict=False))
