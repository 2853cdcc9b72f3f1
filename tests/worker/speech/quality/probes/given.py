"""What a probe starts from: an utterance that is good, and others to borrow from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm
from worker.speech.quality.calibration.calibrate import Example
from worker.speech.quality.measures import WINDOW_S, measure

_LOUD_DB = -8.0


@dataclass(frozen=True, slots=True)
class Given:
    """twin: the same text by another speaker. other: another text by the same speaker."""

    example: Example
    twin: Example
    other: Example

    @property
    def pcm(self) -> Pcm:
        return self.example.speech.pcm

    @property
    def rate_hz(self) -> int:
        return self.example.speech.sample_rate_hz

    @property
    def loud(self) -> float:
        """As a factor of full scale: the level of the loud windows."""
        return 10 ** (measure(self.example.speech).loudness_db / 20)

    def sounding(self, pcm: NDArray[np.floating]) -> Example:
        """The same with other samples."""
        return replace(self.example, speech=replace(self.example.speech, pcm=pcm.astype(np.float32)))


Damage = Callable[[Given, float, np.random.Generator], Example]


@dataclass(frozen=True, slots=True)
class Probe:
    """strengths: in `unit`, the weakest first."""

    name: str
    damage: Damage
    strengths: tuple[float, ...]
    unit: str


def inside(given: Given, length: int, rng: np.random.Generator) -> int:
    """A place for so many samples in the midst of a sound: it is loud where they begin and where they end."""
    size = round(WINDOW_S * given.rate_hz)
    windows = given.pcm[: len(given.pcm) // size * size].reshape(-1, size)
    levels = 20 * np.log10(np.sqrt(np.square(windows, dtype=np.float64).mean(axis=1)) / given.loud + 1e-9)
    loud = levels > _LOUD_DB
    behind = -(-length // size) + 1
    starts = np.flatnonzero(loud[1:-behind] & loud[1 + behind :])
    return int(rng.choice(starts) + 2 if len(starts) else np.flatnonzero(loud)[0]) * size
