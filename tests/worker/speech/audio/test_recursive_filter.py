"""Filtering by blocks gives what the difference equation gives, however the signal is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from worker.speech.audio.recursive_filter import BLOCK, BlockFilter, Section, Signal

SLOW = Section((1.0, -2.0, 1.0), (-1.985, 0.9851))
"""Poles near the circle: what it rings goes on for hundreds of samples."""
FAST = Section((1.2, -1.1, 0.3), (-0.4, 0.2))


def by_its_equation(samples: NDArray[np.float64], section: Section) -> NDArray[np.float64]:
    (f0, f1, f2), (b1, b2) = section.forward, section.back
    filtered = np.zeros(len(samples) + 2)
    past = np.concatenate(([0.0, 0.0], samples))
    for place in range(2, len(past)):
        forward = f0 * past[place] + f1 * past[place - 1] + f2 * past[place - 2]
        filtered[place] = forward - b1 * filtered[place - 1] - b2 * filtered[place - 2]
    return filtered[2:]


@given(
    seed=st.integers(0, 1_000),
    num_samples=st.integers(0, 40 * BLOCK),
    cuts=st.lists(st.integers(0, 40 * BLOCK), max_size=6),
)
def test_blocks_give_what_the_equation_gives_whatever_the_pieces(seed: int, num_samples: int, cuts: list[int]) -> None:
    samples = np.random.default_rng(seed).standard_normal(num_samples)
    expected = by_its_equation(by_its_equation(samples, FAST), SLOW)
    block_filter = BlockFilter((FAST, SLOW))
    ends = sorted({0, num_samples, *(cut for cut in cuts if cut < num_samples)})
    state, parts = block_filter.rest, list[Signal]([np.zeros(0)])

    for start, end in pairwise(ends):
        filtered, state = block_filter.apply(samples[start:end], state)
        parts.append(filtered)

    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-9)


def test_what_rang_out_long_ago_is_forgotten_and_nothing_else() -> None:
    samples = np.zeros(100_000)
    samples[0] = 1.0

    filtered, _ = BlockFilter((SLOW,)).apply(samples, BlockFilter((SLOW,)).rest)

    np.testing.assert_allclose(filtered, by_its_equation(samples, SLOW), atol=1e-13)
