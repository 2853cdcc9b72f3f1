"""Letters that look like others are read as one types them, and every place stays in the text as it came."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.cleaning.cleaning import without_litter
from reading.cleaning.letters import typed_letters
from reading.documents.characters import clean_text
from reading.drafting.draft import Draft, draft_script, plain_text_script
from reading.script.script import plain_script
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.input import NarrationInput, Normalization, SourceType
from rhapsode.contract.jobs.narration import Narration
from storage.narration.spec import NarrationSpec

ODD = [
    ("𝐓𝐡𝐞 𝐬𝐡𝐨𝐩 𝐢𝐬 𝐨𝐩𝐞𝐧 today.", "The shop is open today."),
    ("The ﬁrst oﬃce was ﬁnally ﬂooded.", "The first office was finally flooded."),
    ("ＡＢＣ shop, floor ３.", "ABC shop, floor 3."),
    ("They co\u200doperate with some\u200cbody else.", "They cooperate with somebody else."),
    ("A care\u00adful word\u2060s end.", "A careful words end."),
    ("ᴛʜᴇ ʟᴀᴍᴘ was lit.", "the lamp was lit."),
    ("A cafe\u0301.", "A café."),
]
SAME = [
    "今天，好！ＯＫ？".replace("ＯＫ", "ok"),
    "👩\u200d🚀 went up.",
    "नि\u200dक",
    "5×10³ kg",
    "می\u200cخواهم",
    "[ʀ] and ɪ",
]


@pytest.mark.parametrize(("text", "typed"), ODD)
def test_odd_letters_are_read_as_one_types_them(text: str, typed: str) -> None:
    assert typed_letters(text) == typed
    assert clean_text(text) == typed


@pytest.mark.parametrize("text", SAME)
def test_other_letters_stay(text: str) -> None:
    assert typed_letters(text) == text


def drafted(text: str) -> Draft:
    given = NarrationInput(type=SourceType.TEXT)
    request = Narration(model="", voice="", language="english", normalization=Normalization.BASIC, input=given)
    spec = NarrationSpec(request)
    return draft_script(plain_text_script(text, spec), spec)


def test_what_is_written_in_odd_letters_is_normalized_too() -> None:
    text = "We met on ﬂoor ３. It was late."
    draft = drafted(text)

    assert draft.text == text
    assert [segment.text for segment in draft.plan.segments] == ["We met on floor three. It was late."]
    assert [(each.start, each.end) for each in draft.plan.segments[0].sentences] == [(0, 18), (18, len(text))]


@given(st.lists(st.sampled_from([text for text, _ in ODD]), min_size=1, max_size=30))
def test_segments_cover_the_text_as_it_came(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    segments = drafted(text).plan.segments

    assert (segments[0].start, segments[-1].end) == (0, len(text))
    assert [each.end for each in segments[:-1]] == [each.start for each in segments[1:]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '*She looks up.* "You are *very* late." **No!** He -- *whispering* -- "I know."',
            'She looks up. "You are very late." No! He -- whispering -- "I know."',
        ),
        ("2*3*4 and a * b * c, * one, *two", "2*3*4 and a * b * c, * one, *two"),
        ("[Misaki](/misˈɑki/) is a name.", "Misaki is a name."),
        ("See [this](https://example.org/).", "See [this](https://example.org/)."),
        (
            "Mills burned [1, 2] and rivers rose [3–5], he said [*4] once[7].",
            "Mills burned and rivers rose, he said once.",
        ),
        ("He chose [red, blue] and a[1] of two.", "He chose [red, blue] and a[1] of two."),
    ],
)
def test_marks_of_chats_and_notes_are_silent_where_they_are_certain(text: str, said: str) -> None:
    script = without_litter(plain_script(text), is_book=True)

    assert SpokenText(script.text, script.replacements).text == said
