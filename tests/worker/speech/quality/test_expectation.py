"""How far off good speech may be: by seconds where a text is short, and as far as speech was that no fit has seen."""

from __future__ import annotations

import numpy as np

from worker.speech.quality.expectation import SLACK_S, USUAL_SLACK_S, DurationModel, fit_duration

WORDS = "rain falls softly on the quiet garden where nobody walks anymore today"


def long_texts(number: int) -> tuple[list[str], list[float]]:
    """Of 60 to 240 letters, each said in exactly the time that its letters take."""
    texts = [" ".join((WORDS.split() * 8)[start : start + 10 + 2 * (start % 16)]) for start in range(number)]
    return texts, [0.06 * sum(map(str.isalpha, text)) for text in texts]


def test_a_short_text_may_be_off_by_as_much_as_short_texts_are() -> None:
    texts, seconds = long_texts(40)
    short = [word.ljust(length, "a") + "." for word in ("yes", "no", "oh", "go") for length in range(4, 14)]
    lingering = [0.06 * len(text) + 0.45 * (number % 3) / 2 for number, text in enumerate(short)]

    model = fit_duration([*texts, *short], [*seconds, *lingering])

    assert all(
        model.shortest_s(text) <= lasted <= model.longest_s(text) for text, lasted in zip(short, lingering, strict=True)
    )
    assert model.longest_s(texts[0]) < 1.2 * model.expected_s(texts[0]) + SLACK_S


def test_a_floor_ends_where_the_share_takes_over() -> None:
    model = DurationModel(0, 0.1, 0, 0, shorter_share=0.1, longer_share=0.1, longer_floor_s=0.5)

    assert np.isclose(model.longest_s("a" * 10), 1 + 0.5)
    assert np.isclose(model.longest_s("a" * 100), 10 + 1 + SLACK_S)
    assert np.isclose(model.shortest_s("a" * 10), 1 - 0.1 - SLACK_S)


def test_a_margin_is_what_speech_was_off_that_the_fit_did_not_see() -> None:
    """One text has pauses. A fit that sees it explains it wholly; one that does not is wrong by what pauses take."""
    texts, seconds = long_texts(60)
    lively = [one * (0.92 if number % 2 else 1.08) for number, one in enumerate(seconds)]
    paused, paused_s = texts[31].replace(" ", ", "), 1.3 * seconds[31]

    model = fit_duration([*texts, paused], [*lively, paused_s])

    assert np.isclose(model.expected_s(paused), paused_s, rtol=0.05)
    assert np.isclose(model.longer_share, (0.3 * seconds[31] - SLACK_S) / seconds[31], atol=0.05)
    assert model.longer_share > 0.2


def test_saying_a_text_twice_teaches_nothing_of_others() -> None:
    texts, seconds = long_texts(60)
    lively = [one * (0.92 if number % 2 else 1.08) for number, one in enumerate(seconds)]

    once = fit_duration(texts, lively)
    twice = fit_duration(texts * 2, lively * 2)

    assert np.isclose(twice.longer_share, once.longer_share, atol=0.01)
    assert np.isclose(twice.longer_floor_s, once.longer_floor_s, atol=0.01)


def test_one_short_text_in_two_hundred_that_is_not_said_moves_no_bound() -> None:
    """A floor that covers it would let every short word through that lacks its end, or goes on."""
    texts, seconds = long_texts(40)
    short = [letter * length + "." for letter in "abcdefghijklmnopqrst" for length in range(4, 14)]
    lasting = [0.06 * len(text) for text in short]
    cut, going_on = list(lasting), list(lasting)
    cut[-1], going_on[-1] = 0.1, lasting[-1] + 0.5

    good, with_cut, with_more = (fit_duration([*texts, *short], [*seconds, *one]) for one in (lasting, cut, going_on))

    assert np.isclose(with_cut.shorter_floor_s, good.shorter_floor_s, atol=0.05)
    assert np.isclose(with_more.longer_floor_s, good.longer_floor_s, atol=0.05)


def test_a_word_is_shorter_than_usual_by_more_than_its_share() -> None:
    model = DurationModel(0, 0.1, 0, 0, shorter_share=0.1, longer_share=0.1)

    assert np.isclose(model.usual_s("a" * 4), 0.38 - USUAL_SLACK_S)
    assert np.isclose(model.usual_s("a" * 100), 9.5 - USUAL_SLACK_S)
    assert model.usual_s("a") == 0
