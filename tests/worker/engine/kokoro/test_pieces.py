"""A sentence in pieces is as long as the whole, changes at quiet places, and keeps its level there."""

from __future__ import annotations

import numpy as np
import pytest

from worker.engine.interface import Pcm
from worker.engine.kokoro.speaking import FIRST, in_pieces

SAMPLES = 600
QUIET = range(9, 1_000, 10)
"""Frames in which this speech pauses."""


def tone(start: int, end: int, gain: float = 1.0) -> Pcm:
    level = np.repeat([0.01 if frame in QUIET else 0.1 for frame in range(start, end)], SAMPLES)
    return (gain * level * np.sin(0.05 * np.arange(start * SAMPLES, end * SAMPLES))).astype(np.float32)


@pytest.mark.parametrize("num_frames", [1, 20, FIRST, FIRST + 31, FIRST + 33, 200, 1_000])
def test_pieces_of_one_sound_are_that_sound(num_frames: int) -> None:
    pieces = list(in_pieces(tone, num_frames, FIRST))

    np.testing.assert_allclose(np.concatenate(pieces), tone(0, num_frames), atol=1e-3)


def test_pieces_grow_and_end_where_it_is_quiet() -> None:
    lengths = [len(piece) // SAMPLES for piece in in_pieces(tone, 1_000, FIRST)]

    assert lengths[0] <= FIRST
    assert lengths[:-1] == sorted(lengths[:-1])
    assert all(end in QUIET for end in np.cumsum(lengths[:-1]))


def test_a_whole_is_made_at_once() -> None:
    made: list[tuple[int, int]] = []

    def sound(start: int, end: int) -> Pcm:
        made.append((start, end))
        return tone(start, end)

    assert len(list(in_pieces(sound, 500, 500))) == 1
    assert made == [(0, 500)]


def test_a_louder_piece_begins_at_the_level_of_the_one_before_and_comes_back_to_its_own() -> None:
    def sound(start: int, end: int) -> Pcm:
        return tone(start, end, gain=1.2 if start else 1.0)

    first, second, third = list(in_pieces(sound, 400, FIRST))[:3]

    begins = np.abs(second[SAMPLES : 3 * SAMPLES]).max() / np.abs(first).max()
    ends = np.abs(third[-3 * SAMPLES :]).max() / np.abs(first).max()
    assert (begins, ends) == (pytest.approx(1.0, abs=0.03), pytest.approx(1.2, abs=0.03))
