"""What is drawn of a segment."""

from __future__ import annotations

import base64

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.speech.postprocessing.in_process import MOST_PEAKS, encoded_peaks

RATE_HZ = 24_000
WINDOW = RATE_HZ // 25


def peaks(pcm: npt.NDArray[np.int16]) -> list[int]:
    return list(base64.b64decode(encoded_peaks(pcm, RATE_HZ)))


def test_each_stretch_of_40_ms_is_its_farthest_sample() -> None:
    pcm = np.zeros(3 * WINDOW, np.int16)
    pcm[5], pcm[WINDOW + 7], pcm[2 * WINDOW] = 16_384, -32_768, 0

    assert peaks(pcm) == [128, 255, 0]


def test_the_softest_sound_is_seen_and_silence_is_not() -> None:
    assert peaks(np.array([1], np.int16)) == [1]
    assert peaks(np.array([-1], np.int16)) == [1]
    assert peaks(np.array([0], np.int16)) == [0]
    assert encoded_peaks(np.array([], np.int16), RATE_HZ) == ""


@given(st.integers(1, 4_000 * WINDOW))
def test_whatever_the_length_the_whole_is_covered_and_the_header_bounded(num_samples: int) -> None:
    pcm = np.zeros(num_samples, np.int16)
    pcm[0] = pcm[-1] = 32_767

    found = peaks(pcm)

    assert 1 <= len(found) <= MOST_PEAKS
    assert len(found) == pytest.approx(min(MOST_PEAKS, num_samples / WINDOW), abs=1)
    assert found[0] == found[-1] == 255
