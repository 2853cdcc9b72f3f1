"""A text that is being written is divided and read by what it says, whatever pieces it comes in."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.written.composing import Bounds, SegmentComposer, SegmentPiece
from rhapsode.contract.jobs.input import Normalization, Pauses
from rhapsode.contract.jobs.narration import Narration

WIDE = Bounds(400, 4_000)
PAUSES = Pauses()
DICTIONARY = b"".join(
    json.dumps({"grapheme": grapheme, "alias": alias, "case_sensitive": False}).encode() + b"\n"
    for grapheme, alias in (("kubectl", "cube control"), ("the red fox", "the vixen"), ("SQL", "sequel"))
)


class Written:
    """A text on its way to segments."""

    def __init__(
        self,
        language: str = "english",
        normalization: Normalization = Normalization.BASIC,
        bounds: Bounds = WIDE,
        dictionaries: Sequence[bytes] = (),
    ) -> None:
        narration = Narration(model="", voice="", language=language, normalization=normalization, pauses=PAUSES)
        self.composer = SegmentComposer(narration, bounds, dictionaries)

    def write(self, text: str, *, is_last: bool = False) -> str:
        """What is committed by this piece, in whichever segments."""
        self.composer.feed(text, is_last=is_last)
        return "|".join(piece.text for piece in self.read())

    def read(self) -> Iterator[SegmentPiece]:
        while (piece := self.composer.next()) is not None:
            yield piece


def segments(written: Written, pieces: Sequence[str]) -> list[tuple[str, float]]:
    """Text and pause of each; what was committed may not be taken back, so that it is only added to."""
    texts: defaultdict[int, str] = defaultdict(str)
    pauses: dict[int, float] = {}
    for number, piece in enumerate(pieces):
        written.composer.feed(piece, is_last=number + 1 == len(pieces))
        for said in written.read():
            assert said.segment not in pauses
            texts[said.segment] += said.text
            if said.pause_s is not None:
                pauses[said.segment] = said.pause_s
    assert written.composer.is_over
    assert list(pauses) == list(range(len(pauses)))
    return [(texts[index], pauses[index]) for index in pauses]


def whole(
    text: str,
    language: str = "english",
    normalization: Normalization = Normalization.BASIC,
    bounds: Bounds = WIDE,
    dictionaries: Sequence[bytes] = (),
) -> list[tuple[str, float]]:
    return segments(Written(language, normalization, bounds, dictionaries), [text])


def texts_of(
    text: str,
    normalization: Normalization = Normalization.BASIC,
    bounds: Bounds = WIDE,
    dictionaries: Sequence[bytes] = (),
) -> list[str]:
    return [said for said, _ in whole(text, "english", normalization, bounds, dictionaries)]


PROSE = (
    "Dr. Smith paid $5 and a half million on 12 May 1984, i.e. before the crash. \u201cNo. I will not!\u201d she said. "
    "It is 3.5 km to St. Mary's; King George V and Part I of the SQL book cost 1,234 pounds.\n\n"
    "Kubectl is the red fox of tools... Isn't it? Yes. OK. Version 2.0.1 came at 10:30 a.m. on the 3rd. * * * "
    'He said: "Go." Then he left \u2014 well-known \u2014 for good'
)
GERMAN = "Am 3. Mai kamen 25 Leute, d. h. viele. Das kostet 3,50 Euro! Nr. 7 lebt. Wirklich? Ja."
CHINESE = (
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929\u662f3\u67085\u65e5\uff01"
    "\u201c\u597d\u3002\u201d\u4ed6\u8bf4\u3002 OK 12 \u4e2a"
)
TEXTS = ((PROSE, "english"), (GERMAN, "german"), (CHINESE, "chinese"), (PROSE + CHINESE + GERMAN, "english"))


@pytest.mark.parametrize(("text", "language"), TEXTS)
@pytest.mark.parametrize("bounds", [WIDE, Bounds(60, 4_000), Bounds(400, 40)])
def test_letter_by_letter_is_as_at_once(text: str, language: str, bounds: Bounds) -> None:
    def written() -> Written:
        return Written(language, bounds=bounds, dictionaries=(DICTIONARY,))

    assert segments(written(), list(text)) == segments(written(), [text]) == segments(written(), [text, ""])


@given(st.data())
def test_any_pieces_give_the_same_segments(data: st.DataObject) -> None:
    text, language = data.draw(st.sampled_from(TEXTS))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    pieces = [text[first:last] for first, last in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert segments(Written(language), pieces) == whole(text, language=language)


@given(st.text(st.sampled_from("ab .,!?\n\"I5$\u3002\u4f60(\u2014-'"), max_size=60), st.integers(1, 5))
def test_any_text_in_steps_is_as_at_once(text: str, step: int) -> None:
    pieces = [text[at : at + step] for at in range(0, len(text), step)] or [""]

    assert segments(Written(), pieces) == whole(text)


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_nothing_that_is_letters_is_lost(text: str) -> None:
    said = "".join(texts_of(text, normalization=Normalization.OFF))

    assert _letters(text) == _letters(said)


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def test_the_first_words_are_known_at_once() -> None:
    written = Written()

    assert written.write("Hello") == ""
    assert written.write(" my") == "Hello"
    assert written.write(" dear ") == " my| dear"


def test_a_number_waits_for_what_may_belong_to_it_and_no_longer() -> None:
    written = Written()

    assert written.write("We paid $5 ") == "We| paid"
    assert written.write("million for ") == ""
    assert written.write("all ") == " five| million| dollars| for| all"
    assert written.write("of ") == " of"


def test_a_sentence_ends_when_the_next_one_has_begun() -> None:
    written = Written(normalization=Normalization.OFF)

    assert written.write("It rained all day. ") == "It| rained| all"
    assert written.write("Then") == ""
    assert written.write(" it") == ""
    assert written.write(" ended ") == " day.||Then| it| ended"


def test_flushed_text_is_over_at_once() -> None:
    written = Written(normalization=Normalization.OFF)
    written.write("It rained all day")

    assert written.write("", is_last=True) == " day|."
    assert written.composer.is_over


def test_sentences_paragraphs_and_cuts_have_their_pauses() -> None:
    found = whole("It rained all day long. Nobody went out.\n\nThen came the sun", normalization=Normalization.OFF)

    assert found == [
        ("It rained all day long.", PAUSES.sentence_s),
        ("Nobody went out.", PAUSES.paragraph_s),
        ("Then came the sun.", PAUSES.paragraph_s),
    ]


def test_a_word_alone_is_spoken_with_the_next_sentence() -> None:
    assert texts_of("Yes. I do think that it will rain.") == ["Yes. I do think that it will rain."]


def test_what_is_not_spoken_makes_no_segment() -> None:
    assert texts_of("It is the end of it.\n\n* * *\n\n- And on it goes, of course.") == [
        "It is the end of it.",
        "- And on it goes, of course.",
    ]
    assert texts_of("*** !!! ...") == []
    assert texts_of("") == []


def test_long_sentences_are_cut_within_the_bounds_of_the_model() -> None:
    found = whole("one two three, " * 40, bounds=Bounds(60, 4_000))

    assert max(len(said) for said, _ in found) <= 60
    assert {pause_s for _, pause_s in found[:-1]} == {PAUSES.cut_s}
    assert "".join(said for said, _ in found).count("three") == 40


def test_a_word_longer_than_a_segment_is_divided() -> None:
    found = texts_of("x" * 3_000, normalization=Normalization.OFF, bounds=Bounds(60, 50))

    assert max(len(said) for said in found) <= 50
    assert sum(said.count("x") for said in found) == 3_000


def test_abbreviations_end_no_sentence_and_are_read() -> None:
    assert texts_of("I met Dr. Smith on Monday, at last.") == ["I met Doctor Smith on Monday, at last."]


def test_dictionaries_reach_over_words() -> None:
    assert texts_of("Look at The Red Fox over there.", dictionaries=(DICTIONARY,)) == ["Look at the vixen over there."]
