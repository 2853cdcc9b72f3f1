"""What was said where in a stream of speech. Knows no torch: the processes that align texts have only this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.dimensions import LABELS_PER_FRAME, PHONE_HOP, PHONES, SAMPLE_RATE_HZ

_PHONE_IDS = {name: number for number, name in enumerate(PHONES)}


@dataclass(frozen=True, slots=True)
class Utterance:
    """`start` and `frames` are places in the stream it belongs to. Times are seconds from its start."""

    number: int
    split: str
    text: str
    speaker: int
    start: int
    frames: int
    phones: tuple[tuple[str, float], ...]
    tokens: tuple[tuple[float, float] | None, ...]

    def phone_labels(self) -> NDArray[np.uint8]:
        """The phone of every 20 ms, (frames * 4,)."""
        ends = np.array([end for _, end in self.phones])
        ids = np.array([_PHONE_IDS.get(name, 0) for name, _ in self.phones] + [0], np.uint8)
        middles = (np.arange(self.frames * LABELS_PER_FRAME) + 0.5) * PHONE_HOP / SAMPLE_RATE_HZ
        return ids[np.searchsorted(ends, middles)]
