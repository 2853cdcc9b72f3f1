"""The gold file is read right, prose is left alone, and no item is left half done."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.english.front_end import respell_english
from reading.english.letters.marks import name_emoji
from tests.property_tests import examples
from tests.reading.english.scoring import GOLD, HELD_OUT, THIRD_HAND, Item, Verdict, items_of, spoken_by

ITEMS = items_of(GOLD)
KINDS = sorted({item.kind for item in ITEMS})
LEAST_RIGHT = 0.95


def test_the_gold_file_is_large_enough() -> None:
    to_read = [item for item in ITEMS if item.readings != ("",) or item.kind == "emoji"]

    assert len(KINDS) - 1 >= 24
    assert len(to_read) >= 300
    assert len(ITEMS) - len(to_read) >= 60


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_right_or_untouched(kind: str) -> None:
    judged = [(item, spoken_by(respell_english, item.written)) for item in ITEMS if item.kind == kind]
    wrong = [(item.written, spoken) for item, spoken in judged if is_wrong(item, spoken)]
    right = sum(item.verdict(spoken) is Verdict.RIGHT for item, spoken in judged)

    assert wrong == []
    assert right >= LEAST_RIGHT * len(judged)


@pytest.mark.parametrize("file", [HELD_OUT, THIRD_HAND], ids=lambda file: file.stem)
def test_what_another_hand_wrote_is_right_or_untouched(file: Path) -> None:
    """At first sight, 239 of 260 held-out items were right, 7 untouched and 14 wrong.

    Of the first 200 of the third hand, 118 were right, 31 untouched, 13 half done and 38 wrong. Of its last 60, 59 were
    right and one was half done.
    """
    judged = [(item, spoken_by(respell_english, item.written)) for item in items_of(file)]

    assert [(item.written, spoken) for item, spoken in judged if is_wrong(item, spoken)] == []
    assert sum(item.verdict(spoken) is Verdict.RIGHT for item, spoken in judged) >= LEAST_RIGHT * len(judged)


def is_wrong(item: Item, spoken: str) -> bool:
    return item.verdict(spoken) in (Verdict.WRONG, Verdict.HALF)


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("He left. 20 men came.", "He left. Twenty men came."),
        ("Born c. 1420, d. 1481.", "Born circa fourteen twenty, d. fourteen eighty-one."),
        ("half-pennies--421 pennies", "half-pennies--four hundred twenty-one pennies"),
        ("It's 20% off, i.e. $15.99.", "It's twenty percent off, that is fifteen dollars and ninety-nine cents."),
        (
            "He works in the U.S. Senate. He left the U.S. He ran.",
            "He works in the U S Senate. He left the U S. He ran.",
        ),
        ("Dr. and Mrs. Hale at 6 p.m. They ate.", "Doctor and Missus Hale at six P M. They ate."),
        ("10,000,000 ¥ and 10,000,000 ₿", "Ten million yen and 10,000,000 ₿"),
        ("the years '82 and '90, '20 men' they said", "the years eighty-two and ninety, 'twenty men' they said"),
        ('"5" and 5"', '"Five" and five inches'),
        ("no less than 26s. 4d.", "no less than twenty-six shillings and four pence."),
        ("VII. THE ADVENTURE OF THE BLUE CARBUNCLE", "Seven. The Adventure of the Blue Carbuncle"),
        ("IV\n\nIt was late.", "Four\n\nIt was late."),
        ("chapter I (“Folio”), chapter I liked", "chapter One (“Folio”), chapter I liked"),
        ("Books I read, Books I and II", "Books I read, Books One and Two"),
        ("12 000,50 men and 5 m s⁻¹", "12 000,50 men and 5 m s⁻¹"),
        ("the code is 300, the fence 300", "the code is three zero zero, the fence three hundred"),
        ("Flight 12 minutes late, bus 250 miles", "Flight twelve minutes late, bus two hundred fifty miles"),
        ("ἡ ψυχὴ α, and here alone stood an α in English", "ἡ ψυχὴ α, and here alone stood an alpha in English"),
        ("♭ and ♪ and ♔ stay", "♭ and ♪ and ♔ stay"),
        ("Enoch 4:3 and a 4:3 screen", "Enoch 4:3 and a four to three screen"),
        ("1.234.567 and 3.11.2", "1.234.567 and three point eleven point two"),
        ("a2 + b2 = c2, 127.0.0.1:80", "a2 + b2 = c2, 127.0.0.1:80"),
        ("See Fig. 2a and Table 3-1.", "See Fig. 2a and Table 3-1."),
        ("*really* so", "*really* so"),
        ("3 m² and x²", "Three square meters and x squared"),
        ("10⁻³ of it, 10¹² in all", "Ten to the minus third of it, ten to the twelfth in all"),
        (
            "5×10³ kg, 2.5 · 10⁶ km.",
            "Five times ten to the third kilograms, two point five times ten to the sixth kilometers.",
        ),
        ("3×10⁸ m/s and y = 10⁶", "3×10⁸ m/s and y = 10⁶"),
        ("a tête-à-tête", "a tete-a-tete"),
        ("from 10:00 to 7–8pm", "from ten o'clock to seven to eight P M"),
    ],
)
def test_what_stands_around_an_item_decides(written: str, spoken: str) -> None:
    assert spoken_by(respell_english, written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Well done! 🎉", "Well done! Party popper"),
        ("Good👍 work 🚀🚀!", "Good thumbs up work rocket!"),
        ("❤️ you, 👋🏽 🇫🇷", "Heart you, waving hand flag"),
        ("☞ here ✓", "☞ here ✓"),
    ],
)
def test_emoji_have_names(written: str, spoken: str) -> None:
    assert spoken_by(name_emoji, written) == spoken


@given(
    st.text(st.sampled_from("0123456789.,:/%€$£¢ –-−°²±~≤<>()♭α'\"’”*[]†&@#+=<>½éñ😀IVXABCMrDtSpaeio\n"), max_size=80)
)
@settings(max_examples=examples(400), deadline=None)
def test_replacements_are_in_order_and_change_something(text: str) -> None:
    replacements = list(respell_english(text, 0, len(text)))

    assert all(each.start < each.end for each in replacements)
    assert all(one.end <= other.start for one, other in itertools.pairwise(replacements))
    assert not any(char.isdigit() for each in replacements for char in each.spoken)
    assert all(text[each.start : each.end] != each.spoken for each in replacements)


@given(st.text(st.sampled_from("ab 1984.,$£%mIV"), max_size=60), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=examples(200), deadline=None)
def test_a_stretch_is_not_left(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))

    assert all(start <= each.start and each.end <= end for each in respell_english(text, start, end))
