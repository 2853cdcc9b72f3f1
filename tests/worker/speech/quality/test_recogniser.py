"""The recogniser on recordings of people, and the cuts that make long recordings fit for it."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.speech.quality.recognisers.interface import MAX_CLIP_S, MIN_CLIP_S, pause_cuts
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import word_errors

RATE_HZ = 1000

TWO_CITIES = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the
season of darkness, it was the spring of hope, it was the winter of despair. We had everything before us, we had
nothing before us, we were all going direct to heaven, we were all going direct the other way. In short, the period
was so far like the present period that some of its noisiest authorities insisted on its being received for good or
for evil in the superlative degree of comparison only."""


@pytest.fixture(scope="module")
def recogniser() -> MoonshineTiny:
    return MoonshineTiny()


def test_it_reads_44_seconds_of_a_person_reading(recogniser: MoonshineTiny) -> None:
    """The clip comes with the recogniser and is longer than what the model takes at once."""
    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    pcm, rate_hz = soundfile.read(Path(spec.origin).parent / "assets" / "two_cities.wav", dtype="float32")

    heard = recogniser.transcribe(np.asarray(pcm, np.float32), rate_hz)

    assert word_errors(TWO_CITIES, heard).rate < 0.03


@pytest.mark.parametrize("seconds", [0.0, 0.05, 3.0])
def test_it_hears_nothing_in_silence(recogniser: MoonshineTiny, seconds: float) -> None:
    assert recogniser.transcribe(np.zeros(int(24_000 * seconds), np.float32), 24_000) == ""


def test_long_recordings_are_cut_in_their_pauses() -> None:
    pcm = np.ones(60 * RATE_HZ, np.float32)
    pcm[20_000:20_300] = pcm[39_000:39_300] = 0

    cuts = pause_cuts(pcm, RATE_HZ)

    assert cuts[0] == 0
    assert 20_000 < cuts[1] < 20_300
    assert 39_000 < cuts[2] < 39_300
    assert cuts[3:] == [60_000]


@settings(max_examples=examples(50))
@given(st.floats(0.1, 200), st.integers(0, 99))
def test_no_clip_is_too_long_and_none_a_scrap(seconds: float, seed: int) -> None:
    pcm = np.random.default_rng(seed).normal(size=round(seconds * RATE_HZ)).astype(np.float32)

    lengths = [last - first for first, last in pairwise(pause_cuts(pcm, RATE_HZ))]

    assert sum(lengths) == len(pcm)
    assert max(lengths) <= MAX_CLIP_S * RATE_HZ
    assert len(lengths) == 1 or min(lengths) >= MIN_CLIP_S * RATE_HZ
