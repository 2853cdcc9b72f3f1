"""No true peak above the ceiling, nothing else touched, and no sound of the limiter's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_tests import examples
from tests.worker.assembly.studio import voice_like
from worker.speech.audio.limiter import REACH, STEP_S, limited
from worker.speech.audio.true_peak import TruePeakMeter

RATE_HZ = 24_000
REACH_SAMPLES = (2 * REACH + 2) * round(STEP_S * RATE_HZ)
"""Beyond this from a peak nothing changes."""


def true_peak(signal: NDArray[np.float32]) -> float:
    meter = TruePeakMeter()
    meter.add(signal.astype(np.float64))
    return meter.value()


def db(ratio: float) -> float:
    return 20 * math.log10(ratio)


@given(
    seed=st.integers(0, 999),
    num=st.integers(1, 60) | st.integers(1, 9_000),
    rate_hz=st.sampled_from([8_000, 24_000, 48_000]),
    over_db=st.floats(0, 20),
    tilt=st.integers(1, 8),
)
@example(seed=881, num=7, rate_hz=24_000, over_db=1.2613952975159726, tilt=1)
@example(seed=909, num=2, rate_hz=8_000, over_db=6.0269371389275905, tilt=1)
@settings(max_examples=examples(60), deadline=None)
def test_the_true_peak_is_at_the_ceiling_or_below(seed: int, num: int, rate_hz: int, over_db: float, tilt: int) -> None:
    noise = np.convolve(np.random.default_rng(seed).standard_normal(num + tilt), np.ones(tilt), "same")[:num]
    signal = noise.astype(np.float32)
    ceiling = true_peak(signal) / 10 ** (over_db / 20)

    made = limited(signal, ceiling, rate_hz)

    assert made.dtype == np.float32
    assert len(made) == num
    assert true_peak(made) <= ceiling * 1.0001
    assert (np.abs(made) <= np.abs(signal)).all()


def test_what_is_under_the_ceiling_is_the_very_same() -> None:
    signal = voice_like(2, 0.5, 1)

    assert limited(signal, true_peak(signal) * 1.02, RATE_HZ) is signal


def test_only_the_neighbourhood_of_a_peak_changes() -> None:
    signal = voice_like(3, 0.2, 1)
    signal[RATE_HZ] = 0.9

    made = limited(signal, 0.5, RATE_HZ)

    changed = np.flatnonzero(made != signal)
    assert RATE_HZ - REACH_SAMPLES <= changed[0] < RATE_HZ < changed[-1] <= RATE_HZ + REACH_SAMPLES


@given(num_first=st.integers(1, 2), peak=st.integers(0, 20_000))
@settings(max_examples=examples(20), deadline=None)
def test_a_segment_is_limited_as_it_is_among_others(num_first: int, peak: int) -> None:
    """However the narration is cut into pieces that begin and end in silence, every sample is the same."""
    pieces = [voice_like(1.02, 0.6, number) for number in range(3)]
    pieces[1][peak] += 0.8
    step = round(STEP_S * RATE_HZ)
    quiet = np.zeros(REACH_SAMPLES, np.float32)
    framed = [np.concatenate((quiet, piece[: len(piece) // step * step], quiet)) for piece in pieces]

    alone = np.concatenate([limited(each, 0.35, RATE_HZ) for each in framed])
    halves = (np.concatenate(framed[:num_first]), np.concatenate(framed[num_first:]))
    together = np.concatenate([limited(each, 0.35, RATE_HZ) for each in halves])

    # The sums of products that interpolate differ in their last bit with the place in a row.
    np.testing.assert_allclose(together, alone, atol=2e-6)


@pytest.mark.parametrize("frequency_hz", [90, 220, 1_000])
def test_a_steady_tone_stays_a_tone(frequency_hz: int) -> None:
    """What is not at its frequency is 90 dB below it: the gain does not follow the waves."""
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    made = limited(np.sin(2 * np.pi * frequency_hz * time_s).astype(np.float32), 0.5, RATE_HZ)

    powers = np.abs(np.fft.rfft(made[RATE_HZ // 2 : -RATE_HZ // 2] * np.hanning(RATE_HZ))) ** 2
    tone = powers[frequency_hz - 4 : frequency_hz + 5].sum()
    assert 10 * math.log10((powers.sum() - tone) / tone) < -90


def test_a_swelling_tone_has_no_clicks() -> None:
    """A tone of 1 kHz that swells four times a second: above 1.5 kHz there is nothing of it, limited by 6 dB or not."""
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    signal = (np.sin(2 * np.pi * 1_000 * time_s) * (0.55 - 0.45 * np.cos(2 * np.pi * 4 * time_s))).astype(np.float32)

    made = limited(signal, 0.5, RATE_HZ)

    powers = np.abs(np.fft.rfft(made * np.hanning(len(made)))) ** 2
    assert 10 * math.log10(powers[2 * 1_500 :].sum() / powers.sum()) < -80
    assert db(true_peak(made) / 0.5) == pytest.approx(-0.01, abs=0.01)
