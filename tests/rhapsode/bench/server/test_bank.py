"""Texts of each length and language, as many as are wanted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.server.orders import BOUNDS, Language, TextBank, TextChoice, TextLevel

EVERY = tuple(Language)


@settings(deadline=None, derandomize=True)
@given(seed=st.integers(0, 1 << 32), number=st.integers(0, 1 << 32))
def test_a_text_has_the_length_of_its_level_and_is_the_same_again(seed: int, number: int) -> None:
    choice = TextChoice(seed, languages=EVERY)

    order = TextBank(choice).order(number)

    least, most = BOUNDS[order.level]
    assert least <= len(order.text) <= most
    assert order == TextBank(choice).order(number)


def test_any_few_texts_in_a_row_have_every_length_and_language() -> None:
    bank = TextBank(TextChoice(languages=EVERY))

    kinds = {(order.level, order.language) for order in map(bank.order, range(9))}

    assert kinds == {(level, language) for level in TextLevel for language in Language}


def test_numbers_are_spoken_and_another_seed_says_something_else() -> None:
    texts, others = ([TextBank(TextChoice(seed)).order(number).text for number in range(300)] for seed in (0, 1))

    assert sum(any(character.isdigit() for character in text) for text in texts) > 150
    long = {text for text in texts if len(text) >= BOUNDS[TextLevel.LONG][0]}
    assert len(long) == 100
    assert not long & set(others)


def test_a_text_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a level and a language"):
        TextBank(TextChoice(levels=()))
