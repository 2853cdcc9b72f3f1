"""A text that is still being written: whatever pieces it comes in, its ids are those of the whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.engine.errors import RequestRejected
from worker.engine.model.config import read_model_config
from worker.engine.requests.prompt import OpenText
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.settings import SMALL_VOICE

_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "it",
                "'",
                "s",
                "'r",
                "e",
                "'ll",
                "ama",
                " ",
                "  ",
                "\n",
                "\r\n",
                "\n ",
                "!",
                "...",
                "é",
                "e",
                "\u0301",
                "\u0323",
            ]
        ),
        st.sampled_from(
            ["1984", " was", "-", "\u1100", "\u1161", "\u11a8", "Å", "A\u030a", "\u3000", "\t", "don't ", "🎉"]
        ),
        st.text(max_size=6),
    ),
    max_size=24,
)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(SMALL_VOICE, read_model_config(SMALL_VOICE / "config.json").text_control)


@settings(max_examples=examples(400), deadline=None)
@given(pieces=_PIECES)
def test_pieces_of_any_shape_have_the_ids_of_the_whole(tokenizer: TextTokenizer, pieces: list[str]) -> None:
    text = OpenText(tokenizer)

    ids = [each for piece in pieces for each in text.push(piece, is_last=False)]
    ids += text.push("", is_last=True)

    assert tuple(ids) == tokenizer.encode("".join(pieces).strip())


def test_a_word_is_settled_by_the_blank_behind_it(tokenizer: TextTokenizer) -> None:
    text = OpenText(tokenizer)

    assert text.push("Hello", is_last=False) == ()
    assert text.push(" ", is_last=False) == tokenizer.encode("Hello")
    assert text.push("there, you", is_last=False) == tokenizer.encode(" there,")


def test_many_pieces_take_linear_time(tokenizer: TextTokenizer) -> None:
    """A text of a million characters, a word a piece, would take hours otherwise."""
    text = OpenText(tokenizer)

    ids = [each for _ in range(20_000) for each in text.push(" word", is_last=False)]

    assert tuple(ids) == tokenizer.encode("word" + 19_998 * " word")


def test_lone_surrogates_are_rejected(tokenizer: TextTokenizer) -> None:
    with pytest.raises(RequestRejected, match="surrogate"):
        OpenText(tokenizer).push("\ud800 and", is_last=False)
