"""Where in a stream something is first heard. Pure."""

from __future__ import annotations

import array
import sys
from operator import mul

LEVEL_DBFS = -45.0
BLOCK_S = 0.01
BLOCKS = 3
"""In a row above the level: a click is no speech. Thirty milliseconds, as two windows of 20 ms a half apart have."""

_FULL_SCALE = 32768.0


class Onset:
    """Takes whole 16-bit little-endian samples of one channel, in any pieces, until it has found where sound begins.

    offset_s: of the first block that is heard, from the first sample; None before it.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self.offset_s: float | None = None
        self._size = max(1, round(sample_rate_hz * BLOCK_S))
        self._rate_hz = sample_rate_hz
        self._rest = array.array("h")
        self._blocks = 0
        self._loud = 0
        self._least_power = (10 ** (LEVEL_DBFS / 20) * _FULL_SCALE) ** 2

    def take(self, pcm: bytes) -> None:
        if self.offset_s is not None:
            return
        samples = array.array("h", pcm)
        if sys.byteorder == "big":
            samples.byteswap()
        held = self._rest + samples
        whole = len(held) - len(held) % self._size
        for begin in range(0, whole, self._size):
            if self._hears(held[begin : begin + self._size]):
                self._rest = array.array("h")
                return
        self._rest = held[whole:]

    def _hears(self, block: array.array[int]) -> bool:
        mean = sum(block) / len(block)
        power = sum(map(mul, block, block)) / len(block) - mean * mean
        self._loud = self._loud + 1 if power >= self._least_power else 0
        self._blocks += 1
        if self._loud < BLOCKS:
            return False
        self.offset_s = (self._blocks - BLOCKS) * self._size / self._rate_hz
        return True
