"""Apostrophes that a file lost are spoken; a space that may be one is left alone."""

from __future__ import annotations

import pytest

from reading.cleaning.parted_words import find_lost_apostrophes
from rhapsode.contract.jobs.narration import Narration
from storage.narration.spec import NarrationSpec
from worker.planning.drafting.draft import DraftRequest, draft_plan


def mended(text: str) -> str:
    letters = list(text)
    for found in find_lost_apostrophes(text):
        letters[found.start : found.end] = found.spoken
    return "".join(letters)


@pytest.mark.parametrize(
    "text",
    [
        "I don’t know why she won’t come.",
        "CAN’T you see? They’re here, we’ve come, and he’ll stay.",
        "It isn’t Margaret’s. That’s all; I’m sure he’d say so at five o’clock.",
        "You needn’t mind me, or the children’s noise.",
    ],
)
def test_a_text_without_its_apostrophes_is_read_as_with_them(text: str) -> None:
    assert mended(text.replace("’", " ")) == text
    assert mended(text.replace("’", "\u00a0")) == text
    assert mended(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "We re-read it, and I can t-shirt it.",
        "Do you re’lize it? I can t'ink so.",
        "Vitamin s and plan t. A line of 3 s.",
        "He didn't say what s is, nor what d is.",
        "What s is, they never said.",
        "Don\nt break lines.",
    ],
)
def test_what_may_be_a_word_is_left_alone(text: str) -> None:
    assert mended(text) == text


def test_a_plan_speaks_and_shows_them() -> None:
    text = "I don t know. It s John s hat.\n\n“I ve seen it,” she said."

    plan = draft_plan(DraftRequest(NarrationSpec(Narration(model="m", voice="v")), text.encode())).plan

    assert [each.text for each in plan.segments] == ["I don’t know. It’s John’s hat.", "“I’ve seen it,” she said."]
