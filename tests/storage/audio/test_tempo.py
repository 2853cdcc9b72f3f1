"""Faster and slower speech: as long as it has to be, at its own pitch, each sound where it belongs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from storage.audio.tempo import stretched
from storage.segments.timeline import num_stretched
from tests.property_tests import examples

RATE_HZ = 24_000


def made(samples: NDArray[np.int16], speed: float) -> NDArray[np.float64]:
    return np.frombuffer(stretched(samples.astype("<i2").tobytes(), RATE_HZ, speed), "<i2").astype(np.float64)


def syllables(num: int) -> NDArray[np.int16]:
    """One of 80 ms every half second."""
    time_s = np.arange(round(0.08 * RATE_HZ)) / RATE_HZ
    voiced = sum(np.sin(2 * np.pi * 150 * k * time_s) / k for k in range(1, 9)) * np.hanning(len(time_s))
    return np.tile(np.pad(9_000 * voiced, (RATE_HZ // 4, RATE_HZ // 4 - len(time_s))), num).astype(np.int16)


@given(st.integers(0, 30_000), st.floats(0.25, 4))
@settings(max_examples=examples(40), deadline=None)
def test_the_length_is_known_beforehand(num_samples: int, speed: float) -> None:
    noise = np.random.default_rng(num_samples).integers(-9_000, 9_000, num_samples).astype(np.int16)

    assert len(made(noise, speed)) == num_stretched(num_samples, speed)


def test_at_its_own_speed_every_byte_is_as_it_was() -> None:
    spoken = syllables(2).tobytes()

    assert stretched(spoken, RATE_HZ, 1.0) is spoken


@pytest.mark.parametrize("speed", [0.3, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.2])
def test_every_syllable_is_where_it_belongs(speed: float) -> None:
    power = made(syllables(6), speed) ** 2

    period = len(power) / 6
    for number in range(6):
        piece = power[round(number * period) : round((number + 1) * period)]
        centre_s = float((np.arange(len(piece)) * piece).sum() / piece.sum()) / RATE_HZ
        assert centre_s == pytest.approx(0.29 / speed, abs=0.012)


@pytest.mark.parametrize("pitch_hz", [90, 210])
@pytest.mark.parametrize("speed", [0.5, 0.75, 1.25, 1.5, 2.0])
def test_the_pitch_stays(speed: float, pitch_hz: float) -> None:
    time_s = np.arange(3 * RATE_HZ) / RATE_HZ
    voiced = np.sum([np.sin(2 * np.pi * pitch_hz * k * time_s) / k for k in range(1, 9)], axis=0)

    heard = made((5_000 * voiced).astype(np.int16), speed)[RATE_HZ // 4 : RATE_HZ // 4 + RATE_HZ]

    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard)), 8 * len(heard)))
    assert float(spectrum[: 8 * 300].argmax()) / 8 == pytest.approx(pitch_hz, rel=0.01)


def test_silence_stays_silence() -> None:
    assert not made(np.zeros(RATE_HZ, np.int16), 1.3).any()
    assert stretched(b"", RATE_HZ, 1.3) == b""
