"""Silence before speech goes, and what is heard between two segments is the pause asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from storage.segments.timeline import MARGIN_S, num_gap_samples
from tests.listening.conftest import Readings
from worker.engine.interface import Pcm
from worker.speech.audio.speech_edges import finish_edges

HOP_S = 0.001
WIDTH_S = 0.005
SPEECH_DB = -40.0
"""From here, below its loudest 5 ms, an utterance is heard; a meter of its own, at another width than the trimmer's."""

NEAR_S = 0.02


def envelope_db(pcm: Pcm, rate_hz: int) -> np.ndarray:
    """Level of the 5 ms around every millisecond, relative to the loudest."""
    width, hop = round(WIDTH_S * rate_hz), round(HOP_S * rate_hz)
    energy = np.convolve(np.square(pcm, dtype=np.float64), np.ones(width) / width, "same")[::hop]
    return 10 * np.log10(np.maximum(energy, 1e-12) / energy.max())


def audible_s(pcm: Pcm, rate_hz: int) -> tuple[float, float]:
    audible = np.flatnonzero(envelope_db(pcm, rate_hz) >= SPEECH_DB)
    return float(audible[0]) * HOP_S, float(audible[-1] + 1) * HOP_S


def test_speech_starts_at_its_margin_though_the_decoder_clicks(few_readings: Readings) -> None:
    for reading in (each for readings in few_readings.values() for each in readings):
        pcm, rate_hz = reading.speech.pcm, reading.speech.sample_rate_hz
        assert abs(pcm[0]) > 0.01, "the decoder clicks no more: `decoder_start` can go"

        start_s, _ = audible_s(finish_edges(pcm, rate_hz), rate_hz)

        assert start_s == pytest.approx(MARGIN_S, abs=NEAR_S), reading.text


def test_the_silence_heard_between_two_segments_is_the_pause(few_readings: Readings) -> None:
    for readings in few_readings.values():
        rate_hz = readings[0].speech.sample_rate_hz
        finished = [finish_edges(each.speech.pcm, rate_hz) for each in readings]
        for pause_s in (0.12, 0.45):
            heard_s = [_heard_s(left, right, pause_s, rate_hz) for left, right in pairwise(finished)]
            assert np.median(heard_s) == pytest.approx(pause_s, abs=NEAR_S)
            assert heard_s == pytest.approx([pause_s] * len(heard_s), abs=1.5 * NEAR_S)


def _heard_s(left: Pcm, right: Pcm, pause_s: float, rate_hz: int) -> float:
    """As they are joined; both within their own level."""
    _, end_s = audible_s(left, rate_hz)
    start_s, _ = audible_s(right, rate_hz)
    return len(left) / rate_hz - end_s + num_gap_samples(pause_s, rate_hz) / rate_hz + start_s
