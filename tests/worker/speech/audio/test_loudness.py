"""Loudness and true peak are those of EBU Tech 3341's signals, and those that FFmpeg's ebur128 measures, whatever the
pieces.
"""

from __future__ import annotations

import math
from fractions import Fraction

import av.error
import av.filter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_tests import examples
from worker.speech.audio.loudness import LoudnessMeter, loudness_of
from worker.speech.audio.true_peak import TruePeakMeter


def noise(rate_hz: int, seconds: float = 10.0) -> NDArray[np.float64]:
    """Loud and soft stretches, some below the gates."""
    rng = np.random.default_rng(rate_hz)
    num = round(rate_hz * seconds)
    envelope = np.interp(np.linspace(0, 60, num), np.arange(61), rng.uniform(0, 1, 61) ** 4)
    return np.convolve(rng.standard_normal(num), np.ones(5) / 5, "same") * envelope * 0.5


def measured_by_ffmpeg(samples: NDArray[np.float64], rate_hz: int) -> tuple[float, float]:
    """LUFS, and the true peak in dB."""
    graph = av.filter.Graph()
    source = graph.add_abuffer(format="flt", sample_rate=rate_hz, layout="mono", time_base=Fraction(1, rate_hz))
    graph.link_nodes(source, graph.add("ebur128", "metadata=1:peak=true"), graph.add("abuffersink")).configure()
    frame = av.AudioFrame(format="flt", layout="mono", samples=len(samples))
    frame.planes[0].update(samples.astype("<f4").tobytes())
    frame.sample_rate, frame.pts, frame.time_base = rate_hz, 0, Fraction(1, rate_hz)
    graph.push(frame)
    graph.push(None)
    found: dict[str, str] = {}
    while True:
        try:
            found |= graph.pull().metadata
        except av.error.EOFError:
            break
    return float(found["lavfi.r128.I"]), 20 * math.log10(float(found["lavfi.r128.true_peak"]))


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
def test_both_agree_with_ffmpeg(rate_hz: int) -> None:
    samples = noise(rate_hz)
    loudness, peak = LoudnessMeter(rate_hz), TruePeakMeter()
    for start in range(0, len(samples), 7_777):
        loudness.add(samples[start : start + 7_777])
        peak.add(samples[start : start + 7_777])

    lufs, true_peak_db = measured_by_ffmpeg(samples, rate_hz)

    assert loudness.integrated_lufs() == pytest.approx(lufs, abs=0.05)
    assert 20 * math.log10(peak.value()) == pytest.approx(true_peak_db, abs=0.2)


def tone(rate_hz: int, *stretches: tuple[float, float]) -> NDArray[np.float64]:
    """A kilohertz. stretches: the LUFS of each, and its seconds."""
    # On one channel a sine of so many LUFS is 3 dB stronger than on the two channels of the EBU's.
    parts = [(10 ** ((lufs + 3.0103) / 20), np.arange(round(seconds * rate_hz))) for lufs, seconds in stretches]
    return np.concatenate([factor * np.sin(2 * np.pi * 1000 * number / rate_hz) for factor, number in parts])


@pytest.mark.parametrize("rate_hz", [24_000, 48_000])
@pytest.mark.parametrize(
    ("stretches", "lufs"),
    [
        pytest.param([(-23, 20)], -23, id="1"),
        pytest.param([(-33, 20)], -33, id="2"),
        pytest.param([(-36, 10), (-23, 60), (-36, 10)], -23, id="3, relative gate"),
        pytest.param([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23, id="4, both gates"),
        pytest.param([(-26, 20), (-20, 20.1), (-26, 20)], -23, id="5"),
    ],
)
def test_the_loudness_of_the_ebus_signals(rate_hz: int, stretches: list[tuple[float, float]], lufs: float) -> None:
    meter = LoudnessMeter(rate_hz)
    meter.add(tone(rate_hz, *stretches))

    assert meter.integrated_lufs() == pytest.approx(lufs, abs=0.1)


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 48_000])
@pytest.mark.parametrize(
    ("cycle", "degrees", "amplitude", "true_peak_db"),
    [
        pytest.param(4, 0.0, 0.5, -6.0, id="15"),
        pytest.param(4, 45.0, 0.5, -6.0, id="16"),
        pytest.param(6, 60.0, 0.5, -6.0, id="17"),
        pytest.param(8, 67.5, 0.5, -6.0, id="18"),
        pytest.param(4, 45.0, 1.41, 3.0, id="19"),
        # FFmpeg tells thousandths of full scale, of which this is 1.4: it would be off by 3 dB.
        pytest.param(4, 45.0, 0.0014, -57.1, id="very quiet"),
    ],
)
def test_the_true_peak_of_the_ebus_signals(
    rate_hz: int, cycle: int, degrees: float, amplitude: float, true_peak_db: float
) -> None:
    """cycle: in samples. The EBU allows 0.2 dB too much and 0.4 too little."""
    number = np.arange(rate_hz)
    fade = np.minimum(1, np.minimum(number, number[::-1]) / (rate_hz / 20))
    meter = TruePeakMeter()
    meter.add(amplitude * np.sin(2 * np.pi * number / cycle + np.deg2rad(degrees)) * fade)

    assert -0.1 <= 20 * math.log10(meter.value()) - true_peak_db <= 0.1


def test_a_sine_of_a_kilohertz_at_full_scale_has_the_loudness_of_the_recommendation() -> None:
    samples = np.sin(2 * np.pi * 997 * np.arange(48_000 * 3) / 48_000)
    meter = LoudnessMeter(48_000)
    meter.add(samples)

    assert meter.integrated_lufs() == pytest.approx(-3.01, abs=0.02)


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_half_the_bits_hear_the_same_loudness(offset: float) -> None:
    """A constant offset is what a high-pass of few bits would stumble over."""
    dice = np.random.default_rng(1)
    envelope = np.repeat(dice.random(50), 4_800)
    pcm = (0.2 * (dice.normal(size=len(envelope)) * envelope + offset)).astype(np.float32)
    meter = LoudnessMeter(24_000)
    meter.add(pcm.astype(np.float64))

    assert loudness_of(pcm, 24_000) == pytest.approx(meter.integrated_lufs(), abs=0.006)


def test_a_peak_between_samples_is_found() -> None:
    samples = np.sin(2 * np.pi * np.arange(4_000) / 4 + np.pi / 4) * 0.5
    meter = TruePeakMeter()
    meter.add(samples)

    assert np.abs(samples).max() == pytest.approx(0.5 / math.sqrt(2))
    # The sudden beginning and end ring a little beyond the wave itself.
    assert 0.5 <= meter.value() <= 0.6


def test_silence_and_a_moment_have_no_loudness() -> None:
    silence, moment = LoudnessMeter(24_000), LoudnessMeter(24_000)
    silence.add(np.zeros(24_000))
    moment.add(np.ones(2_400))

    assert silence.integrated_lufs() == -math.inf
    assert moment.integrated_lufs() == -math.inf


WHOLE = noise(24_000, 3.0)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
@settings(max_examples=examples(25), deadline=None)
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    once, pieces = (LoudnessMeter(24_000), TruePeakMeter()), (LoudnessMeter(24_000), TruePeakMeter())
    for meter in once:
        meter.add(WHOLE)
    for part in np.split(WHOLE, sorted(cuts)):
        for meter in pieces:
            meter.add(part)

    assert pieces[0].integrated_lufs() == pytest.approx(once[0].integrated_lufs(), abs=1e-6)
    assert pieces[1].value() == pytest.approx(once[1].value(), rel=1e-9)
