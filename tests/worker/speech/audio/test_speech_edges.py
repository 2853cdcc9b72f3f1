"""Silence goes, speech stays, and no edge clicks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from storage.segments.timeline import num_margin_samples
from worker.speech.audio.speech_edges import finish_edges

RATE = 24_000


def tone(seconds: float, level: float = 0.3) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 220 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def test_silence_around_speech_is_cut_to_thirty_milliseconds() -> None:
    pcm = np.concatenate([silence(0.5), tone(1.0), silence(0.8)])

    finished = finish_edges(pcm, RATE)

    assert len(finished) / RATE == pytest.approx(1.06, abs=0.01)


def test_speech_that_begins_at_once_gets_the_same_margin() -> None:
    pcm = np.full(RATE, 0.5, np.float32)

    finished = finish_edges(pcm, RATE)

    margin = num_margin_samples(RATE)
    assert len(finished) == RATE + 2 * margin
    assert not finished[:margin].any()
    assert not finished[-margin:].any()
    assert finished[margin] > 0


def test_the_click_of_a_decoder_s_start_is_no_speech() -> None:
    click = 0.02 * np.exp(-np.arange(RATE // 10) / 12)
    speech = np.concatenate([silence(0.1), tone(1.0), silence(0.2)])
    clicking = speech.copy()
    clicking[: len(click)] += click.astype(np.float32)

    assert np.array_equal(finish_edges(clicking, RATE), finish_edges(speech, RATE))


def test_a_click_within_the_margin_is_faded() -> None:
    clicking = np.concatenate([silence(0.02), tone(1.0)])
    clicking[0] = 0.02

    finished = finish_edges(clicking, RATE)

    assert len(finished) == round(1.06 * RATE)
    assert np.abs(finished[: num_margin_samples(RATE)]).max() < 1e-5


def test_silence_inside_speech_stays() -> None:
    pcm = np.concatenate([tone(0.3), silence(0.7), tone(0.3)])

    finished = finish_edges(pcm, RATE)

    margin = num_margin_samples(RATE)
    assert len(finished) == len(pcm) + 2 * margin
    inside = slice(round(0.01 * RATE), len(pcm) - round(0.01 * RATE))
    assert np.array_equal(finished[margin:-margin][inside], pcm[inside])


def test_a_quiet_breath_before_speech_is_kept() -> None:
    pcm = np.concatenate([silence(0.3), tone(0.2, level=0.006), tone(0.5)])

    assert len(finish_edges(pcm, RATE)) / RATE == pytest.approx(0.76, abs=0.01)


def test_edges_fade_in_and_out_within_five_milliseconds() -> None:
    pcm = np.full(RATE, 0.5, np.float32)

    margin = num_margin_samples(RATE)
    finished = finish_edges(pcm, RATE)[margin:-margin]

    fade = round(0.005 * RATE)
    assert 0 < finished[0] < 0.001
    assert (np.diff(finished[:fade]) > 0).all()
    assert (finished[fade:-fade] == 0.5).all()
    assert np.array_equal(finished, finished[::-1])


def test_pure_silence_keeps_its_length() -> None:
    assert len(finish_edges(silence(0.4), RATE)) == round(0.4 * RATE)


def test_the_input_is_left_as_it_was() -> None:
    pcm = tone(0.2)
    before = pcm.copy()

    finish_edges(pcm, RATE)

    assert np.array_equal(pcm, before)


@given(arrays(np.float32, st.integers(0, 4_000), elements=st.floats(-1, 1, width=32)))
def test_nothing_is_ever_trimmed_to_nothing_or_grows_beyond_its_margins(pcm: np.ndarray) -> None:
    finished = finish_edges(pcm, RATE)

    assert min(len(pcm), 1) <= len(finished) <= len(pcm) + 2 * num_margin_samples(RATE)
    assert np.abs(finished).max(initial=0) <= np.abs(pcm).max(initial=0)
