from __future__ import annotations

import numpy as np
import pytest

from worker.speech.alignment.aligner import character_times

RATE_HZ = 16_000


def tone(seconds: float) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    time_s = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (8_000 * np.sin(2 * np.pi * 200 * time_s)).astype(np.int16)


def silence(seconds: float) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    return np.zeros(round(seconds * RATE_HZ), np.int16)


def test_words_share_what_sounds_by_their_length_and_stay_out_of_silence() -> None:
    pcm = np.concatenate([silence(0.5), tone(1), silence(1), tone(1), silence(0.3)])

    first, second = character_times(pcm, RATE_HZ, ["abcd", "efgh"])

    assert (first[0], first[-1]) == pytest.approx((0.5, 1.5), abs=0.02)
    assert (second[0], second[-1]) == pytest.approx((2.5, 3.5), abs=0.02)
    assert first == sorted(first)
    assert len(first) == 5


@pytest.mark.parametrize("pcm", [silence(0), silence(1), tone(0.001)])
def test_nothing_to_hear_is_no_error(pcm: np.ndarray[tuple[int], np.dtype[np.int16]]) -> None:
    times = character_times(pcm, RATE_HZ, ["one", "two"])

    assert all(0 <= bound <= max(0.01, len(pcm) / RATE_HZ) for word in times for bound in word)
    assert character_times(pcm, RATE_HZ, []) == []
