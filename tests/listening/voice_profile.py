"""How a voice sounds, in two things that anybody can check: how high it is, and how its energy lies in the spectrum.

Far coarser than a speaker encoder, but without one: enough to tell that a voice is its own teacher's and not the
other's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.speech.judging.judges import HOP, SAMPLE_RATE_HZ, Floats, mel_power
from worker.speech.quality.recognisers.interface import resampled

NUM_BANDS = 24

_LOWEST_HZ, _HIGHEST_HZ = 60, 400
_PITCH_WINDOW = SAMPLE_RATE_HZ // 20
_MIN_PERIODICITY = 0.6
_LOUD_SHARE = 0.5
"""Windows below this quantile of loudness do not count: pauses, breath, soft consonants."""


@dataclass(frozen=True, slots=True)
class VoiceProfile:
    """pitch_hz: median over voiced windows. spectrum_db: mean level of mel bands, their mean taken off."""

    pitch_hz: float
    spectrum_db: tuple[float, ...]

    def semitones_from(self, other: VoiceProfile) -> float:
        return abs(12 * float(np.log2(self.pitch_hz / other.pitch_hz)))

    def spectrum_from(self, other: VoiceProfile) -> float:
        """Root mean square difference of the bands in dB."""
        return float(np.sqrt(np.mean(np.square(np.subtract(self.spectrum_db, other.spectrum_db)))))


def voice_profile(utterances: Iterable[tuple[Floats, int]]) -> VoiceProfile:
    """utterances: (samples, Hz) of one voice. Needs at least one voiced sound."""
    pitches: list[NDArray[np.float64]] = []
    spectra: list[NDArray[np.float64]] = []
    for pcm, sample_rate_hz in utterances:
        samples = resampled(pcm, sample_rate_hz, SAMPLE_RATE_HZ)
        levels = 10 * np.log10(mel_power(samples, NUM_BANDS).astype(np.float64) + 1e-12)
        loudness = levels.max(axis=1)
        spectra.append(levels[loudness >= np.quantile(loudness, _LOUD_SHARE)])
        pitches.append(_pitches_hz(samples))
    spectrum = np.concatenate(spectra).mean(axis=0)
    return VoiceProfile(
        pitch_hz=round(float(np.median(np.concatenate(pitches))), 1),
        spectrum_db=tuple(np.round(spectrum - spectrum.mean(), 2).tolist()),
    )


def _pitches_hz(samples: Floats) -> NDArray[np.float64]:
    """Of the voiced windows, by the autocorrelation's highest peak."""
    if len(samples) < _PITCH_WINDOW:
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(samples, _PITCH_WINDOW)[::HOP].astype(np.float64)
    windows = windows[np.square(windows).mean(axis=1) > np.square(samples).mean() / 4]
    spectra = np.abs(np.fft.rfft(windows, 2 * _PITCH_WINDOW, axis=1)) ** 2
    likeness = np.fft.irfft(spectra, axis=1)[:, :_PITCH_WINDOW]
    # Longer shifts compare fewer samples.
    likeness *= _PITCH_WINDOW / (likeness[:, :1] * (_PITCH_WINDOW - np.arange(_PITCH_WINDOW)) + 1e-12)
    shortest, longest = SAMPLE_RATE_HZ // _HIGHEST_HZ, SAMPLE_RATE_HZ // _LOWEST_HZ
    shifts = shortest + likeness[:, shortest:longest].argmax(axis=1)
    voiced = likeness[np.arange(len(shifts)), shifts] > _MIN_PERIODICITY
    return SAMPLE_RATE_HZ / shifts[voiced]
