"""Pauses between sentences are lengthened and shortened in their own silence, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from worker.speech.postprocessing.sentence_ends import LEAST_S, with_pauses

RATE_HZ = 24_000


def tone(seconds: float) -> NDArray[np.float32]:
    return (0.3 * np.sin(2 * np.pi * 200 * np.arange(round(seconds * RATE_HZ)) / RATE_HZ)).astype(np.float32)


def silence(seconds: float) -> NDArray[np.float32]:
    return np.full(round(seconds * RATE_HZ), 1e-4, np.float32)


@pytest.mark.parametrize(("wanted_s", "heard_s"), [(0.45, 0.45), (0.1, 0.1), (0.06, 0.06), (0.0, LEAST_S)])
def test_a_pause_is_as_long_as_it_is_to_be(wanted_s: float, heard_s: float) -> None:
    spoken = np.concatenate([tone(1), silence(0.1), tone(0.5), silence(0.2), tone(1)])

    made = with_pauses(spoken, RATE_HZ, [(1.02, 1.09), (1.6, 1.8)], wanted_s)

    assert (made.held, made.left) == (2, 0)
    assert len(made.pcm) == pytest.approx((2.5 + 2 * heard_s) * RATE_HZ, abs=4)
    for at_s, told in ((0, spoken[:RATE_HZ]), (1 + heard_s, tone(0.5)), (1.5 + 2 * heard_s, tone(1))):
        first = round(at_s * RATE_HZ)
        near = [made.pcm[first + shift : first + shift + len(told)] for shift in range(-4, 5) if first + shift >= 0]
        assert any(len(each) == len(told) and np.array_equal(each, told) for each in near)
    assert np.abs(np.diff(made.pcm)).max() <= np.abs(np.diff(spoken)).max()


def test_where_there_is_no_silence_nothing_is_done() -> None:
    spoken = np.concatenate([tone(1), silence(0.03), tone(1), silence(0.3), tone(1)])

    made = with_pauses(spoken, RATE_HZ, [(1.0, 1.03), (1.5, 1.6)], 0.5)

    assert (made.held, made.left) == (0, 2)
    np.testing.assert_array_equal(made.pcm, spoken)


def test_one_silence_is_of_one_end() -> None:
    spoken = np.concatenate([tone(1), silence(0.1), tone(1)])

    made = with_pauses(spoken, RATE_HZ, [(1.0, 1.04), (1.06, 1.1)], 0.5)

    assert (made.held, made.left) == (1, 1)


def test_of_nothing_nothing_is_made() -> None:
    assert not len(with_pauses(np.zeros(0, np.float32), RATE_HZ, [], 0.5).pcm)
