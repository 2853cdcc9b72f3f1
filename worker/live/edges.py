"""The edges of a segment of a live stream. Pure; what comes out depends on the samples alone, and not on the chunks
they come in.

Silence before speech is left out but for a margin. What ends a segment is not known before it is there: silence behind
speech stays, and the pause after it is as much shorter.
"""

from __future__ import annotations

import numpy as np

from storage.segments.timeline import MARGIN_S
from worker.engine.interface import Pcm
from worker.speech.audio.decoder_start import num_start_samples
from worker.speech.audio.speech_edges import FADE_S, WINDOW_S, rise

AUDIBLE_RMS = 0.002
"""A window counts as speech from -54 dB of full scale: what is loudest in the segment is not known yet."""


class LeadingSilence:
    """Of one segment."""

    def __init__(self, sample_rate_hz: int, *, is_start: bool = True) -> None:
        """is_start: whether the first samples are those with which the codec's decoder begins."""
        self._window = round(WINDOW_S * sample_rate_hz)
        self._margin = round(MARGIN_S * sample_rate_hz)
        self._fade = round(FADE_S * sample_rate_hz)
        self._clicks = num_start_samples(sample_rate_hz) if is_start else 0
        self._held: Pcm | None = np.zeros(0, np.float32)
        self._looked = 0

    def take(self, pcm: Pcm) -> Pcm:
        """The samples to send, with those held back so far if speech begins in them."""
        if self._held is None:
            return pcm
        self._held = np.concatenate((self._held, pcm))
        begins = self._find()
        if begins is None:
            return self._held[:0]
        heard, self._held = self._held[max(0, begins - self._margin) :], None
        num_fade = min(self._fade, len(heard))
        heard[:num_fade] *= rise(num_fade)
        return heard

    def _find(self) -> int | None:
        """The first audible window among those that are complete and were not looked at."""
        assert self._held is not None  # noqa: S101  (`take` has looked)
        end = len(self._held) // self._window * self._window
        if end == self._looked:
            return None
        part = self._held[self._looked : end].copy()
        part[: max(0, self._clicks - self._looked)] = 0
        audible = np.flatnonzero(audible_windows(part, self._window))
        first, self._looked = self._looked, end
        return first + int(audible[0]) * self._window if len(audible) else None


class TrailingSilence:
    """How long a segment has been silent at its end."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._window = round(WINDOW_S * sample_rate_hz)
        self._open = np.zeros(0, np.float32)
        self._silent = 0
        self.last = np.float32(0)
        """The very last sample: what follows begins with its decay."""

    def take(self, pcm: Pcm) -> None:
        if not len(pcm):
            return
        self.last = pcm[-1]
        joined = np.concatenate((self._open, pcm))
        end = len(joined) // self._window * self._window
        self._open = joined[end:]
        loud = np.flatnonzero(audible_windows(joined, self._window))
        windows = end // self._window
        self._silent = windows - 1 - int(loud[-1]) if len(loud) else self._silent + windows

    @property
    def num_samples(self) -> int:
        return self._silent * self._window + len(self._open)


def pause(pause_s: float, sample_rate_hz: int, behind: TrailingSilence) -> Pcm:
    """Silence that lasts `pause_s` with the segment's own end and the next one's margin. It begins without a step."""
    wanted = round((pause_s - MARGIN_S) * sample_rate_hz) - behind.num_samples
    num_fade = round(FADE_S * sample_rate_hz)
    silence = np.zeros(max(wanted, num_fade), np.float32)
    silence[:num_fade] = behind.last * rise(num_fade)[::-1]
    return silence


def audible_windows(pcm: Pcm, window: int) -> np.typing.NDArray[np.bool_]:
    """Whether each window is; what does not fill the last one does not count."""
    whole = pcm[: len(pcm) // window * window]
    energy = np.square(whole.reshape(-1, window), dtype=np.float64).mean(axis=1)
    return energy >= AUDIBLE_RMS**2
