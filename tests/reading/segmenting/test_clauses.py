"""A sentence that is too long is cut where a reader would breathe, and nothing that belongs together is torn."""

from __future__ import annotations

import pytest

from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments
from rhapsode.contract.jobs.input import Pauses

LOOPED = (
    "The old lighthouse keeper, who had never once in forty years left the island for longer than it took to row over "
    "to the harbour and buy flour, oil and tobacco, climbed the hundred and twelve steps every evening with a lamp in "
    "his hand; up there he sat and watched the ships go by until the last of them had passed the rocks and was out of "
    "his sight."
)


def pieces(text: str, cap: int) -> list[str]:
    return [segment.text for segment in plan_segments(text, LengthRules(cap, cap), Pauses())]


def test_a_sentence_longer_than_the_model_takes_is_cut_at_its_clauses() -> None:
    found = pieces(LOOPED, 280)

    assert len(LOOPED) > 300
    assert [piece[-1] for piece in found] == [";", "."]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One two three four five, six seven; eight nine ten eleven twelve.", "One two three four five, six seven;"),
        ("One two three four five, six and seven eight nine ten eleven.", "One two three four five,"),
        ("One two three four, five six seven, and eight nine ten eleven.", "One two three four, five six seven,"),
        ("One two three four five six and seven eight nine ten eleven.", "One two three four five six"),
        ("One two three four five—six seven eight nine ten eleven x.", "One two three four five—"),
        ("One two three four five six seven eight nine ten eleven.", "One two three four five six"),
    ],
)
def test_the_place_that_is_heard_least_is_taken(text: str, first: str) -> None:
    assert pieces(text, 40)[0] == first


def test_a_quotation_stays_whole_where_there_is_another_place() -> None:
    text = 'He said "we shall see, and then we shall know" as he closed the door behind himself, and left.'

    assert '"we shall see, and then we shall know"' in pieces(text, 70)[0]


def test_a_mark_that_is_never_closed_is_no_quotation() -> None:
    assert pieces('The board is 6" wide and thick, it holds well and it is not heavy at all, they say.', 60) == [
        'The board is 6" wide and thick,',
        "it holds well and it is not heavy at all, they say.",
    ]


@pytest.mark.parametrize("whole", ["12 000 000", "Dr. Woods", "St. Mary"])
def test_numbers_and_abbreviations_are_not_torn(whole: str) -> None:
    for lead in range(4, 14):
        text = f"{'word ' * lead}{whole} {'word ' * 8}end."

        assert any(whole in piece for piece in pieces(text, 60)), text
