"""The narration's samples as they go into the files: levelled, with its pauses, at the sample rate asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import soxr
from numpy.typing import NDArray

from worker.assembly.audio.levels import MeasuredLevel
from worker.speech.audio.room_tone import RoomTone
from worker.speech.audio.samples import Samples, to_bytes

SILENCE_PIECE = 65_536
"""Samples of silence handed out at once: a pause may be long, memory stays small."""

Signal = NDArray[np.float32]
"""Samples on the scale of 16-bit integers, shape (N,)."""


def num_output_samples(num_samples: int, from_hz: int, to_hz: int) -> int:
    return round(num_samples * to_hz / from_hz)


class SoundShaper:
    """Takes segments and gaps in order; gives 16-bit samples as bytes. What needs no change passes bit for bit."""

    def __init__(
        self,
        from_hz: int,
        to_hz: int,
        num_samples: int,
        levels: Iterable[MeasuredLevel],
        room_tone: RoomTone | None = None,
    ) -> None:
        """num_samples: of the whole, at to_hz. levels: none, or covering all segments. room_tone: at to_hz."""
        self._levels = {index: each for each in levels for index in range(each.first_segment, each.end_segment)}
        self._from_hz = from_hz
        self._resampler = None if from_hz == to_hz else Resampler(from_hz, to_hz, num_samples)
        self._room_tone = room_tone

    def segment(self, index: int, samples: Samples) -> bytes:
        level = self._levels.get(index)
        if level is not None:
            return self._shaped(level.levelled(samples, self._from_hz))
        return to_bytes(samples) if self._passes else self._shaped(samples.astype(np.float32))

    def gap(self, num_samples: int) -> Iterator[bytes]:
        for start in range(0, num_samples, SILENCE_PIECE):
            count = min(SILENCE_PIECE, num_samples - start)
            yield bytes(2 * count) if self._passes else self._shaped(np.zeros(count, np.float32))

    def end(self) -> bytes:
        """What the resampler still held."""
        return b"" if self._resampler is None else self._in_the_room(self._resampler.end())

    @property
    def _passes(self) -> bool:
        return self._resampler is None and self._room_tone is None

    def _shaped(self, signal: Signal) -> bytes:
        return self._in_the_room(signal if self._resampler is None else self._resampler.add(signal))

    def _in_the_room(self, signal: Signal) -> bytes:
        return _rounded(signal if self._room_tone is None else signal + self._room_tone.next(len(signal)))


class Resampler:
    """soxr in pieces; the result has exactly the length that the whole should have."""

    def __init__(self, from_hz: int, to_hz: int, num_samples: int) -> None:
        self._stream = soxr.ResampleStream(from_hz, to_hz, num_channels=1, dtype="float32", quality="HQ")
        self._num_left = num_samples

    def add(self, signal: Signal) -> Signal:
        return self._within(self._stream.resample_chunk(signal))

    def end(self) -> Signal:
        """Ends are silence, so that a sample too many or too few is none that was spoken."""
        rest = self._within(self._stream.resample_chunk(np.zeros(0, np.float32), last=True))
        return np.pad(rest, (0, self._num_left))

    def _within(self, signal: Signal) -> Signal:
        kept = signal[: self._num_left]
        self._num_left -= len(kept)
        return kept


def _rounded(signal: Signal) -> bytes:
    limits = np.iinfo(np.int16)
    return to_bytes(np.clip(np.rint(signal), limits.min, limits.max).astype(np.int16))
