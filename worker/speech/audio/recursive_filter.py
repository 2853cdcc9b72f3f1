"""Recursive filters over many samples in numpy, by blocks: what a loop over samples would do, as products of matrices.

A filter of n poles keeps n numbers between samples. Within a block of samples, the output is a product of the samples
with the filter's response, plus the decay of those n numbers. One small matrix advances them from block to block. Its
powers advance all blocks at once, twice as many at each step, until the rest of the past is negligible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Samples. Fewer make more states, more make larger products; between 24 and 48 there is no difference."""

ROWS = 256
"""Blocks in a product. Linear algebra libraries divide larger ones among threads, which spin while they wait for each
other and take ten times the CPU where the cores have other work."""

NOTHING = 1e-17
"""Powers of a stable filter below this add nothing to a number of 64 bits."""

Matrix = NDArray[np.float64]
Signal = NDArray[np.floating]
"""Mono samples, shape (N,)."""


@dataclass(frozen=True, slots=True)
class Section:
    """Second order: y[t] = f0 x[t] + f1 x[t-1] + f2 x[t-2] - b1 y[t-1] - b2 y[t-2]."""

    forward: tuple[float, float, float]
    back: tuple[float, float]


class BlockFilter:
    """Sections one behind the other. Immutable: the state of a signal is the caller's.

    precision: of its signals; half as many bits take half the time.
    """

    def __init__(self, sections: Sequence[Section], precision: type[np.floating] = np.float64) -> None:
        step, into, out, through = _in_a_row(sections)
        powers = [np.eye(len(into))]
        for _ in range(BLOCK):
            powers.append(step @ powers[-1])
        response = np.array([through, *(out @ power @ into for power in powers[: BLOCK - 1])])
        rows = [[response[i - j] if i >= j else 0.0 for i in range(BLOCK)] for j in range(BLOCK)]
        self._responses = np.array(rows, precision)
        """Row j: what sample j of a block adds to each of its outputs."""
        self._ringing = np.array([out @ power for power in powers[:BLOCK]], precision).T
        """Row n: what number n of the state at the block's beginning adds to each of its outputs."""
        self._kept = np.array([power @ into for power in reversed(powers[:BLOCK])], precision)
        """Row j: what sample j of a block adds to the state at its end."""
        self._powers = [power.T.astype(precision) for power in powers]
        self._leaps = [leap.astype(precision) for leap in _leaps(powers[BLOCK])]

    @property
    def rest(self) -> Signal:
        """The state after endless silence."""
        return np.zeros(len(self._kept[0]), self._kept.dtype)

    def apply(self, samples: Signal, state: Signal) -> tuple[Signal, Signal]:
        """The filtered samples, as many, and the state behind them."""
        whole = len(samples) // BLOCK * BLOCK
        blocks = samples[:whole].reshape(-1, BLOCK)
        states = self._states(blocks, state)
        filtered = np.empty(len(samples), self._kept.dtype)
        filtered_blocks = filtered[:whole].reshape(-1, BLOCK)
        for start in range(0, len(blocks), ROWS):
            rows = slice(start, start + ROWS)
            np.matmul(blocks[rows], self._responses, out=filtered_blocks[rows])
            filtered_blocks[rows] += states[:, :-1][:, rows].T @ self._ringing
        rest, left = samples[whole:], len(samples) - whole
        filtered[whole:] = rest @ self._responses[:left, :left] + states[:, -1] @ self._ringing[:, :left]
        return filtered, rest @ self._kept[BLOCK - left :] + states[:, -1] @ self._powers[left]

    def _states(self, blocks: Signal, state: Signal) -> Signal:
        """At the beginning of each block, and behind the last: shape (poles, blocks + 1)."""
        states = np.concatenate((state[:, np.newaxis], (blocks @ self._kept).T), axis=1)
        distance = 1
        for leap in self._leaps:
            if distance > len(blocks):
                break
            states[:, distance:] += leap @ states[:, :-distance]
            distance *= 2
        return states


def _in_a_row(sections: Sequence[Section]) -> tuple[Matrix, Matrix, Matrix, float]:
    """As one system: state' = step state + into x, y = out state + through x."""
    step, into, out, through = _system(sections[0])
    for section in sections[1:]:
        next_step, next_into, next_out, next_through = _system(section)
        corner = np.zeros((len(step), len(next_step)))
        step = np.block([[step, corner], [np.outer(next_into, out), next_step]])
        into = np.concatenate((into, next_into * through))
        out = np.concatenate((next_through * out, next_out))
        through *= next_through
    return step, into, out, through


def _system(section: Section) -> tuple[Matrix, Matrix, Matrix, float]:
    """The transposed second direct form: its two numbers are what the past still adds to this output and the next."""
    (f0, f1, f2), (b1, b2) = section.forward, section.back
    step = np.array([[-b1, 1.0], [-b2, 0.0]])
    return step, np.array([f1 - b1 * f0, f2 - b2 * f0]), np.array([1.0, 0.0]), f0


def _leaps(step: Matrix) -> list[Matrix]:
    """The step over a block, over two, four, eight, for states as columns; as far as anything is left of the past."""
    leaps: list[Matrix] = []
    while np.abs(step).max() > NOTHING:
        leaps.append(step)
        step = step @ step
    return leaps
