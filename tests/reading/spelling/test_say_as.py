"""SSML's `say-as`: each kind as a narrator says it, and nothing where it is not what it is said to be."""

from __future__ import annotations

import pytest

from reading.spelling.say_as import Speller

ENGLISH = Speller("english", names_letters=True)

SAID = [
    ("characters", "", "ab1", "ay bee one"),
    ("spell-out", "", "T V", "tee vee"),
    ("verbatim", "", "x-", "ex -"),
    ("cardinal", "", "1,234", "one thousand two hundred thirty-four"),
    ("number", "", "3.5", "three point five"),
    ("ordinal", "", "21", "twenty-first"),
    ("ordinal", "", "3rd", "third"),
    ("ordinal", "", "three", None),
    ("digits", "", "1-20", "one two zero"),
    ("digits", "", "a1", None),
    ("telephone", "", "+1 (212) 555", "plus one, two one two, five five five"),
    ("telephone", "", "call me", None),
    ("date", "mdy", "3/4/2021", "March fourth, twenty twenty-one"),
    ("date", "dmy", "3.4.2021", "April third, twenty twenty-one"),
    ("date", "yyyymmdd", "20210403", "April third, twenty twenty-one"),
    ("date", "", "2021-04-03", "April third, twenty twenty-one"),
    ("date", "md", "3/4", "March fourth"),
    ("date", "my", "5/1999", "May, nineteen ninety-nine"),
    ("date", "mdy", "13/4/2021", None),
    ("date", "mdy", "3/40/2021", None),
    ("time", "", "1'21\"", "one minute twenty-one seconds"),
    ("time", "hms12", "2:30 pm", "two thirty pee em"),
    ("fraction", "", "3/4", "three quarters"),
    ("unit", "", "10 kg", "ten kilograms"),
    ("currency", "", "$42.01", "forty-two dollars and one cent"),
    ("name", "", "Dr. Who", "Dr. Who"),
    ("nonsense", "", "12 kg", "twelve kilograms"),
    ("cardinal", "", "", None),
    ("cardinal", "", "9" * 300, None),
]


@pytest.mark.parametrize(("kind", "form", "text", "spoken"), SAID)
def test_kinds_are_said_as_a_narrator_says_them(kind: str, form: str, text: str, spoken: str | None) -> None:
    assert ENGLISH.say_as(kind, form, text, "") == spoken


def test_other_languages_are_read_by_their_own_rules() -> None:
    assert ENGLISH.say_as("unit", "", "3 kg", "german") == "drei Kilogramm"
    assert ENGLISH.say_as("cardinal", "", "3", "russian") is None
    assert Speller("german", names_letters=True).say_as("characters", "", "ab", "") == "a b"
    assert Speller("english", names_letters=False).say_as("characters", "", "ab", "") == "a b"
