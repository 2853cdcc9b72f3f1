"""What can be measured of an utterance without another model: silences, level, clipping, repeated frames. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import CodecFrames, Pcm, Speech
from worker.speech.audio.decoder_start import without_click
from worker.speech.quality.quantiles import quantile

WINDOW_S = 0.01
"""Length over which energy is measured."""

SPEECH_DB = -40.0
"""A window counts as speech from here, relative to the loud ones."""

FULL_SCALE = 0.999

_LOUD_SHARE = 0.9
"""The loud windows are those above this quantile: one click must not decide what is loud."""
_END_WINDOWS = 2
_FLOOR_DB = -120.0
_MIN_CLIPPED_RUN = 3
"""A single sample at full scale is a peak; this many in a row are a peak cut off."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The longest stretch of audible frames that comes again, code for code in every codebook."""

    frames: int
    at: int
    """Frame at which the second time begins."""


@dataclass(frozen=True, slots=True)
class SpeechMeasures:
    """Seconds are of the samples as the engine made them, edges not yet trimmed. Levels are dB of full scale.

    speech_s: from the first to the last audible window. silence_share: of it, what is not audible.
    end_db: the last 20 ms relative to the loud windows; speech that was cut off is loud to the end.
    final_code: codebook 0 of the last frame, None if there is none.
    """

    total_s: float
    speech_s: float
    leading_s: float
    trailing_s: float
    longest_pause_s: float
    longest_pause_at_s: float
    silence_share: float
    loudness_db: float
    end_db: float
    clipped_share: float
    finite_share: float
    repeat: Repeat
    final_code: int | None = None


def measure(speech: Speech) -> SpeechMeasures:
    """Samples that are not finite are counted and taken as zero, so that everything else is still a number."""
    share = finite_share(speech.pcm)
    pcm = speech.pcm if share == 1 else np.where(np.isfinite(speech.pcm), speech.pcm, np.float32(0))
    levels = _window_levels(without_click(pcm, speech.sample_rate_hz), speech.sample_rate_hz)
    loud_db = quantile(levels, _LOUD_SHARE)
    is_audible = levels >= max(loud_db + SPEECH_DB, _FLOOR_DB / 2)
    audible = np.flatnonzero(is_audible)
    first, last = (int(audible[0]), int(audible[-1]) + 1) if len(audible) else (len(levels), len(levels))
    gaps = np.diff(audible, prepend=audible[:1]) - 1
    widest = int(gaps.argmax()) if len(gaps) else 0
    pause = max(0, int(gaps[widest])) if len(gaps) else 0
    return SpeechMeasures(
        total_s=len(pcm) / speech.sample_rate_hz,
        speech_s=(last - first) * WINDOW_S,
        leading_s=first * WINDOW_S,
        trailing_s=(len(levels) - last) * WINDOW_S,
        longest_pause_s=pause * WINDOW_S,
        longest_pause_at_s=(int(audible[widest]) - pause) * WINDOW_S if pause else 0.0,
        silence_share=1 - len(audible) / (last - first) if last > first else 1.0,
        loudness_db=loud_db,
        end_db=float(levels[-_END_WINDOWS:].max()) - loud_db,
        clipped_share=_clipped_share(pcm),
        finite_share=share,
        repeat=longest_repeat(speech.frames, _audible_frames(is_audible, len(speech.frames))),
        final_code=int(speech.frames[-1, 0]) if speech.frames.size else None,
    )


def finite_share(pcm: Pcm) -> float:
    """Of the samples, those that are numbers; 1 if there are none."""
    # What is no number is none in a sum either, and to add takes a third of the time.
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(pcm.sum())
    return 1.0 if math.isfinite(total) else float(np.isfinite(pcm).mean())


def longest_repeat(frames: CodecFrames, audible: NDArray[np.bool_]) -> Repeat:
    """frames (T, Q), audible (T,): frames of silence may well be the same and do not count."""
    if not frames.size:
        return Repeat(0, 0)
    names = _names(frames)
    longest = Repeat(0, 0)
    for distance in _distances(names, audible):
        same = (names[distance:] == names[:-distance]) & audible[distance:]
        length, start = longest_run(same)
        if length > longest.frames:
            longest = Repeat(length, start + distance)
    return longest


def _names(frames: CodecFrames) -> NDArray[np.intp]:
    """A number for each, the same for the same."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(frame.tobytes(), len(known)) for frame in frames], np.intp)


def _distances(names: NDArray[np.intp], audible: NDArray[np.bool_]) -> list[int]:
    """How far apart audible frames of one name lie, each distance once. In good speech there are hardly any."""
    found: set[int] = set()
    for name in np.flatnonzero(np.bincount(names[audible]) > 1):
        places = np.flatnonzero(audible & (names == name))
        found.update(np.unique(places[None, :] - places[:, None]).tolist())
    return sorted(distance for distance in found if distance > 0)


def _window_levels(pcm: Pcm, sample_rate_hz: int) -> NDArray[np.float64]:
    """dB of full scale of each window; what does not fill the last one belongs to the one before. Never empty."""
    size = round(WINDOW_S * sample_rate_hz)
    count = len(pcm) // size
    windows, rest = pcm[: count * size].reshape(count, size), pcm[count * size :]
    energies = np.einsum("ij,ij->i", windows, windows).astype(np.float64)
    lengths = np.full(count, size)
    if not count:
        energies, lengths = np.zeros(1), np.zeros(1, int)
    energies[-1] += np.dot(rest, rest)
    lengths[-1] += len(rest)
    return 10 * np.log10(np.maximum(energies / np.maximum(lengths, 1), 10 ** (_FLOOR_DB / 10)))


def _audible_frames(audible: NDArray[np.bool_], num_frames: int) -> NDArray[np.bool_]:
    """Whether a frame has an audible window, (num_frames,). Windows are shorter than frames."""
    if not num_frames:
        return np.zeros(0, bool)
    places = np.arange(len(audible)) * num_frames // len(audible)
    heard = np.zeros(num_frames, bool)
    np.logical_or.at(heard, places, audible)
    return heard


def _clipped_share(pcm: Pcm) -> float:
    """Share of the samples that lie in a run at full scale."""
    if not len(pcm) or max(pcm.max(), -pcm.min()) < FULL_SCALE:
        return 0.0
    starts, ends = runs(np.abs(pcm) >= FULL_SCALE)
    lengths = ends - starts
    return float(lengths[lengths >= _MIN_CLIPPED_RUN].sum() / len(pcm))


def runs(flags: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where they begin and end."""
    edges = np.diff(flags.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """(length, start) of the first longest."""
    starts, ends = runs(flags)
    if not len(starts):
        return 0, 0
    best = int((ends - starts).argmax())
    return int(ends[best] - starts[best]), int(starts[best])
