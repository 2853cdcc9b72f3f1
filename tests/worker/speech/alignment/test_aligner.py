"""On speech of the small voice, held to the word times that PocketSphinx 5.1.1 gives of it."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from worker.speech.alignment.aligner import Method, WordAligner, WordTimes

SAMPLES = Path(__file__).resolve().parents[4] / "worker/small_voice/samples"
MOON = "The moon came up behind the dark pine trees."
MOON_STARTS_S = [0.07, 0.16, 0.45, 0.77, 0.91, 1.36, 1.43, 1.74, 2.34]
ROPE = "He pulled the heavy rope until his arms were sore."
ROPE_STARTS_S = [0.07, 0.26, 0.67, 0.77, 1.06, 1.41, 1.79, 2.04, 2.43, 2.59]

Samples = NDArray[np.int16]


@pytest.fixture(scope="module")
def aligner() -> WordAligner:
    return WordAligner()


def sample(name: str) -> tuple[Samples, int]:
    with wave.open(str(SAMPLES / f"{name}.wav")) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2"), file.getframerate()


def starts(times: WordTimes) -> list[float]:
    return [word.start_s for word in times.words]


@pytest.mark.parametrize(
    ("name", "text", "known"), [("moon-slt", MOON, MOON_STARTS_S), ("rope-rms", ROPE, ROPE_STARTS_S)]
)
def test_words_begin_where_another_recogniser_hears_them(
    aligner: WordAligner, name: str, text: str, known: list[float]
) -> None:
    times = aligner.align(*sample(name), text.split(), english=True)

    errors = np.abs(np.array(starts(times)) - known)
    assert times.method is Method.ALIGNED
    assert np.median(errors) <= 0.02
    assert errors.max() <= 0.1
    bounds = [bound for word in times.words for bound in word.bounds]
    assert bounds == sorted(bounds)
    assert [len(word.bounds) - 1 for word in times.words] == [len(word) for word in text.split()]


def test_times_do_not_depend_on_level_or_sample_rate(aligner: WordAligner) -> None:
    pcm, rate_hz = sample("moon-slt")

    usual = aligner.align(pcm, rate_hz, MOON.split(), english=True)
    quiet = aligner.align((pcm // 8).astype(np.int16), rate_hz, MOON.split(), english=True)
    other = aligner.align(pcm[::1], rate_hz, [word.upper() for word in MOON.split()], english=True)
    late = aligner.align(np.pad(pcm, (rate_hz, 0)), rate_hz, MOON.split(), english=True)

    assert starts(other) == starts(usual)
    assert starts(quiet) == pytest.approx(starts(usual), abs=0.05)
    assert [start - 1 for start in starts(late)] == pytest.approx(starts(usual), abs=0.05)


def test_digits_and_foreign_letters_are_found_between_the_words_around_them(aligner: WordAligner) -> None:
    written = ["The", "moon", "came", "up", "behind", "the", "7", "pine", "деревья."]

    times = aligner.align(*sample("moon-slt"), written, english=True)

    assert times.method is Method.ALIGNED
    assert starts(times) == pytest.approx(MOON_STARTS_S, abs=0.15)


@pytest.mark.parametrize(
    ("words", "english"),
    [
        (ROPE.split(), True),
        (MOON.split(), False),
        (["incomprehensibilities"] * 60, True),
        (["...", "—"], True),
        (["a"] * 3_000, True),
    ],
    ids=["another text", "another language", "too much for its time", "nothing to say", "much too much"],
)
def test_what_cannot_be_aligned_is_estimated_and_says_so(aligner: WordAligner, words: list[str], english: bool) -> None:
    pcm, rate_hz = sample("moon-slt")

    times = aligner.align(pcm, rate_hz, words, english=english)

    assert times.method is Method.ESTIMATED
    assert len(times.words) == len(words)
    bounds = [bound for word in times.words for bound in word.bounds]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= len(pcm) / rate_hz + 0.02


@pytest.mark.parametrize("length", [0, 1, 100, 300])
def test_a_blink_of_sound_is_no_error(aligner: WordAligner, length: int) -> None:
    assert len(aligner.align(np.ones(length, np.int16), 24_000, ["one", "two"], english=True).words) == 2
    assert aligner.align(np.ones(length, np.int16), 24_000, [], english=True).words == ()


def test_silence_and_noise_are_not_called_speech(aligner: WordAligner) -> None:
    noise = np.random.default_rng(1).normal(0, 3_000, 60_000).astype(np.int16)

    for pcm in (np.zeros(60_000, np.int16), noise):
        assert aligner.align(pcm, 24_000, MOON.split(), english=True).method is Method.ESTIMATED
