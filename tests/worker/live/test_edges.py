"""What is heard of a segment's edges follows from its samples, and not from the chunks they come in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.engine.interface import Pcm
from worker.live.edges import LeadingSilence, TrailingSilence, pause

RATE = 24_000
MARGIN = 720


def speech(silent_s: float, loud_s: float) -> Pcm:
    silence = np.zeros(round(silent_s * RATE), np.float32)
    loud = np.sin(np.arange(round(loud_s * RATE)) * 0.1).astype(np.float32) / 4
    return np.concatenate((silence, loud)).astype(np.float32)


def heard(pcm: Pcm, cuts: list[int]) -> Pcm:
    leading = LeadingSilence(RATE)
    return np.concatenate([leading.take(part) for part in np.split(pcm, cuts)])


@given(st.sets(st.integers(1, 20_000), max_size=8))
def test_chunks_make_no_difference(cuts: set[int]) -> None:
    pcm = speech(0.5, 0.4)

    np.testing.assert_array_equal(heard(pcm, sorted(cuts)), heard(pcm, []))


def test_silence_goes_but_for_a_margin() -> None:
    assert len(heard(speech(0.5, 0.4), [])) == round(0.4 * RATE) + MARGIN


def test_speech_that_begins_at_once_loses_nothing_but_a_fade() -> None:
    pcm = speech(0.0, 0.4)

    np.testing.assert_array_equal(heard(pcm, [])[120:], pcm[120:])


def test_the_click_of_the_decoder_is_no_speech() -> None:
    pcm = speech(0.5, 0.4)
    pcm[:20] = 0.5

    assert len(heard(pcm, [])) == round(0.4 * RATE) + MARGIN


def test_silence_alone_is_not_heard() -> None:
    assert len(heard(speech(1.0, 0.0), [])) == 0


@given(st.sets(st.integers(1, 20_000), max_size=8))
def test_a_pause_lasts_with_what_the_segment_ends_in(cuts: set[int]) -> None:
    trailing = TrailingSilence(RATE)
    for part in np.split(speech(0.1, 0.4)[::-1], sorted(cuts)):
        trailing.take(part)

    assert trailing.num_samples / RATE == pytest.approx(0.1, abs=0.011)
    assert (len(pause(0.5, RATE, trailing)) + trailing.num_samples + MARGIN) / RATE == pytest.approx(0.5)


def test_a_segment_that_breaks_off_ends_without_a_step() -> None:
    trailing = TrailingSilence(RATE)
    trailing.take(np.full(4_800, 0.5, np.float32))

    silence = pause(0.0, RATE, trailing)

    assert silence[0] == pytest.approx(0.5, abs=0.01)
    assert np.abs(np.diff(silence)).max() < 0.02
    assert silence[-1] == pytest.approx(0.0, abs=0.01)
