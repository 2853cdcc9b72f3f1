"""What is spoken in place of what is written: rules find whole words, positions come back to the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.english.front_end import respell_english
from reading.numbers.english_words import cardinal, ordinal, year
from reading.script.script import Replacement, plain_script
from reading.spelling.respelling import Lexicon, respelt
from reading.spelling.rules import PronunciationRule
from reading.spelling.spoken import SpokenText
from tests.property_tests import examples

Rule = tuple[str, str] | tuple[str, str, bool]


def rule_of(rule: Rule) -> PronunciationRule:
    match rule:
        case (grapheme, alias):
            return PronunciationRule(grapheme, alias)
        case (grapheme, alias, case_sensitive):
            return PronunciationRule(grapheme, alias, case_sensitive)


def spoken(text: str, *rules: Rule) -> str:
    script = respelt(plain_script(text), Lexicon([rule_of(rule) for rule in rules]))
    return SpokenText(script.text, script.replacements).text


@pytest.mark.parametrize(
    ("text", "rule", "result"),
    [
        ("W3C, w3c and W3Cs.", ("W3C", "web"), "Web, w3c and W3Cs."),
        ("SQL, sql and Sql.", ("sql", "sequel", False), "Sequel, sequel and sequel."),
        ("Go to New\n York; New Yorkers too.", ("New York", "the Apple"), "Go to the Apple; New Yorkers too."),
        ("Use .NET here, not a.NET.", (".NET", "dot net"), "Use dot net here, not adot net."),
        ("私は東京都にいる。", ("東京", "とうきょう"), "私はとうきょう都にいる。"),
        ("a_b a b", ("a", "x"), "a_b x b"),
        ("C++ and C", ("C++", "see plus plus"), "See plus plus and C"),
        ("Hm.", ("Hm", ""), "."),
    ],
)
def test_a_rule_applies_to_whole_words(text: str, rule: Rule, result: str) -> None:
    assert spoken(text, rule) == result


def test_the_longest_rule_counts_and_what_is_replaced_is_not_looked_at_again() -> None:
    assert spoken("New York City", ("New York", "NY"), ("New York City", "NYC"), ("NYC", "wrong")) == "NYC"

    script = respelt(plain_script("AB C"), Lexicon([PronunciationRule("AB", "C")]))
    script = respelt(script, Lexicon([PronunciationRule("C", "sea"), PronunciationRule("AB", "late")]))
    assert SpokenText(script.text, script.replacements).text == "C sea"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Mr Fox. MR Fox? But mr Fox.", "Mister Fox. Mister Fox? But mister Fox."),
        ('He saw Mr Fox. "Mr Fox!"', 'He saw mister Fox. "Mister Fox!"'),
        ("mr Fox", "mister Fox"),
        ("Prof. Mr Fox", "Prof. mister Fox"),
        ("A title\n\nMr Fox", "A title\n\nMister Fox"),
    ],
)
def test_the_first_word_of_a_sentence_keeps_its_capital(text: str, result: str) -> None:
    assert spoken(text, ("mr", "mister", False)) == result


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "It was $234.56 in 1984.",
            "It was two hundred thirty-four dollars and fifty-six cents in nineteen eighty-four.",
        ),
        ("1984 of them", "One thousand nine hundred eighty-four of them"),
        ("On 2026-11-21 at 14:30.", "On November twenty-first, twenty twenty-six at fourteen thirty."),
        (
            "Call 555-0173 or (020) 555-1234.",
            "Call five five five, zero one seven three or zero two zero, five five five, one two three four.",
        ),
        ("At 9:05 and 3:00", "At nine oh five and three o'clock"),
        ("-5°C, 12 km, 1 km", "Minus five degrees Celsius, twelve kilometers, one kilometer"),
        ("50%, 3.14, 1,000,000", "Fifty percent, three point one four, one million"),
        ("£0.01, €2 million and ¥500", "One penny, two million euros and five hundred yen"),
        ("The 21st, 12th and 100th", "The twenty-first, twelfth and one hundredth"),
        ("007", "Zero zero seven"),
        (
            "v1.2.3, 10.0.0.1/8, #5a, 5555-1234, A1, 2x, 12/05/2026",
            "v1.2.3, 10.0.0.1/8, #5a, 5555-1234, A1, 2x, 12/05/2026",
        ),
        ("2026-13-40", "2026-13-40"),
    ],
)
def test_numbers_become_words(text: str, words: str) -> None:
    script = respelt(plain_script(text), respell_english)

    assert SpokenText(script.text, script.replacements).text == words


def test_numbers_are_said_as_people_say_them() -> None:
    assert cardinal(10**12 + 21) == "one trillion twenty-one"
    assert [ordinal(number) for number in (1, 20, 23, 112)] == [
        "first",
        "twentieth",
        "twenty-third",
        "one hundred twelfth",
    ]
    assert [year(number) for number in (1900, 1905, 2005, 2026)] == [
        "nineteen hundred",
        "nineteen oh five",
        "two thousand five",
        "twenty twenty-six",
    ]


@given(
    st.text("ab ,1", max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6), st.text("xy", max_size=4)))
)
@settings(max_examples=examples(200), deadline=None)
def test_positions_translate_there_and_back(source: str, cuts: list[tuple[int, int, str]]) -> None:
    replacements: list[Replacement] = []
    for start, length, alias in sorted(cuts):
        start = max(start, replacements[-1].end + 1 if replacements else 0)
        if length and start + length <= len(source):
            replacements.append(Replacement(start, start + length, alias))
    text = SpokenText(source, replacements)

    assert (text.from_source(0), text.from_source(len(source))) == (0, len(text.text))
    positions = [text.to_source(position) for position in range(len(text.text) + 1)]
    assert positions == sorted(positions)
    untouched = [p for p in range(len(source)) if not any(r.start <= p < r.end for r in replacements)]
    assert all(text.text[text.from_source(position)] == source[position] for position in untouched)
