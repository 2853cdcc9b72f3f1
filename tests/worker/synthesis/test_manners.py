"""Every attempt at a segment differs from the one before it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from storage.segments.edits import MAX_TAKES
from worker.engine.interface import SamplingParams, TokenSampling
from worker.synthesis.manners import REROLL_TEMPERATURE, Manner, Tries, manners

TEXT = "The rain had stopped. Nobody came to the door that night."
PARTS = ("The rain had stopped.", "Nobody came to the door that night.")
DRAWING = SamplingParams()
GREEDY = SamplingParams(TokenSampling(temperature=0.0), TokenSampling(temperature=0.0))
TRIES = Tries(TEXT, DRAWING, greedy_wanted=False, drawn=False, first=1, most=3)


def seed_of(number: int) -> int:
    return 100 + number


def made(tries: Tries) -> list[Manner]:
    return list(manners(tries, seed_of))


def temperatures(found: list[Manner]) -> list[float]:
    return [manner.sampling.talker.temperature for manner in found]


def test_a_checkpoint_that_draws_gets_other_seeds_and_at_last_two_halves() -> None:
    found = made(TRIES)

    assert [(manner.number, manner.seed, manner.parts) for manner in found] == [
        (1, 101, (TEXT,)),
        (2, 102, (TEXT,)),
        (3, 103, PARTS),
    ]
    assert {manner.sampling for manner in found} == {DRAWING}


def test_a_greedy_one_draws_from_the_second_attempt_on() -> None:
    found = made(replace(TRIES, sampling=GREEDY))

    assert temperatures(found) == [0, REROLL_TEMPERATURE, REROLL_TEMPERATURE]
    assert [manner.sampling.predictor.temperature for manner in found] == [0, 0, 0]
    assert found[2].parts == PARTS


def test_a_retake_and_a_retried_job_draw_at_once() -> None:
    retake = made(replace(TRIES, sampling=GREEDY, drawn=True))
    retried = made(replace(TRIES, sampling=GREEDY, first=4))

    assert temperatures(retake) == temperatures(retried) == [REROLL_TEMPERATURE] * 3
    assert [manner.number for manner in retried] == [4, 5, 6]


def test_a_job_that_asks_for_the_likeliest_codes_keeps_them_and_repeats_nothing() -> None:
    wanted = replace(TRIES, sampling=GREEDY, greedy_wanted=True)

    assert [(manner.number, manner.parts) for manner in made(wanted)] == [(1, (TEXT,)), (3, PARTS)]
    assert temperatures(made(wanted)) == [0, 0]
    assert [manner.number for manner in made(replace(wanted, text="Yes."))] == [1]


def test_one_attempt_is_whole_and_a_word_is_never_cut() -> None:
    assert [manner.parts for manner in made(replace(TRIES, most=1))] == [(TEXT,)]
    assert [manner.parts for manner in made(replace(TRIES, text="Yes."))] == [("Yes.",)] * 3


def test_a_model_that_draws_nothing_speaks_slower_each_time() -> None:
    spoken = replace(TRIES, sampling=GREEDY, has_speed=True)

    assert [(each.speed, each.parts) for each in made(spoken)] == [
        (1.0, (TEXT,)),
        (pytest.approx(0.97), (TEXT,)),
        (pytest.approx(0.97**2), PARTS),
    ]
    assert temperatures(made(spoken)) == [0, 0, 0]
    assert len(made(replace(spoken, greedy_wanted=True))) == 3


def test_each_take_of_the_same_words_has_another_speed() -> None:
    again = replace(TRIES, sampling=GREEDY, has_speed=True, drawn=True)
    takes = [[each.speed for each in made(replace(again, take=take))][:2] for take in range(1, MAX_TAKES + 1)]

    assert [speeds[0] for speeds in takes[:3]] == [1.0, 0.94, 1.06]
    for earlier, later in itertools.pairwise(takes):
        assert all(abs(one - other) > 0.025 for one in earlier for other in later)
    assert made(replace(again, drawn=False, take=3))[0].speed == 1.0
