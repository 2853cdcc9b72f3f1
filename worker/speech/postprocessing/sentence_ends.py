"""Where the sentences of an utterance end, found in its samples, and the pauses there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import Pcm
from worker.speech.alignment.aligner import Method, WordAligner
from worker.speech.alignment.words import said_in_english, words_of
from worker.speech.audio.samples import to_samples
from worker.speech.audio.speech_edges import FADE_S, RELATIVE_THRESHOLD

NEAR_S = 0.04
"""How far a silence may lie from where the aligner has the end of a sentence: nine starts in ten are nearer."""

LEAST_S = 0.05
"""Of a silence that is a pause: shorter ones are the closures of a `t` or a `k`."""

_WINDOW_S = 0.005


@dataclass(frozen=True, slots=True)
class SentencePauses:
    """sentences: as they are spoken, at least two, in English. pause_s: the wanted pause between two."""

    sentences: tuple[str, ...]
    pause_s: float


class PauseKeeper:
    """The networks are read when they are needed first. Any thread may call; one is served at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aligner: WordAligner | None = None

    def held(self, pcm: Pcm, sample_rate_hz: int, wanted: SentencePauses) -> HeldPauses:
        """As it was spoken where the aligner cannot follow."""
        ends = self._ends(pcm, sample_rate_hz, wanted.sentences)
        if ends is None:
            return HeldPauses(pcm, 0, len(wanted.sentences) - 1)
        return with_pauses(pcm, sample_rate_hz, ends, wanted.pause_s)

    def _ends(self, pcm: Pcm, sample_rate_hz: int, sentences: Sequence[str]) -> list[tuple[float, float]] | None:
        said = [[word.text for word in words_of(said_in_english(text))] for text in sentences]
        if not all(said):
            return None
        with self._lock:
            self._aligner = self._aligner or WordAligner()
            found = self._aligner.align(
                to_samples(pcm), sample_rate_hz, [word for row in said for word in row], english=True
            )
        if found.method is not Method.ALIGNED:
            return None
        bounds = [0, *accumulate(map(len, said))]
        spans = [(found.words[first].start_s, found.words[stop - 1].end_s) for first, stop in pairwise(bounds)]
        return [(before[1], behind[0]) for before, behind in pairwise(spans)]


# A model pauses about 0.1 s between two sentences. That silence is lengthened or shortened in its middle, to no less
# than `LEAST_S`; no sample of speech is touched. Where no silence lies at the end of a sentence, nothing is done.
@dataclass(frozen=True, slots=True)
class HeldPauses:
    """left: how many ends of sentences had no silence, and stay unchanged."""

    pcm: Pcm
    held: int
    left: int


def with_pauses(pcm: Pcm, sample_rate_hz: int, ends: Sequence[tuple[float, float]], pause_s: float) -> HeldPauses:
    """ends: of each sentence but the last, when its last word ends and when the next one begins, in seconds."""
    silences = _silences(pcm, sample_rate_hz)
    pieces: list[Pcm] = []
    at = held = 0
    for end_s, start_s in ends:
        found = _nearest(silences, round((end_s - NEAR_S) * sample_rate_hz), round((start_s + NEAR_S) * sample_rate_hz))
        if found is None or found[0] < at:
            continue
        first, stop = found
        more = round(max(pause_s, LEAST_S) * sample_rate_hz) - (stop - first)
        too_much = max(0, -more)
        cut = (first + stop - too_much) // 2
        pieces += [_faded(pcm[at:cut], sample_rate_hz, at_start=at > 0), np.zeros(max(0, more), pcm.dtype)]
        at = cut + too_much
        held += 1
    pieces.append(_faded(pcm[at:], sample_rate_hz, at_start=at > 0, at_end=False))
    return HeldPauses(np.concatenate(pieces), held, len(ends) - held)


def _faded(pcm: Pcm, sample_rate_hz: int, *, at_start: bool, at_end: bool = True) -> Pcm:
    """Cut in silence, so that the cut is inaudible."""
    num_fade = min(round(FADE_S * sample_rate_hz), len(pcm) // 2)
    ramp = np.linspace(0, 1, num_fade, dtype=pcm.dtype)
    faded = pcm.copy()
    if at_start:
        faded[:num_fade] *= ramp
    if at_end:
        faded[len(faded) - num_fade :] *= ramp[::-1]
    return faded


def _silences(pcm: Pcm, sample_rate_hz: int) -> NDArray[np.int64]:
    """(number, 2): first sample and end of each stretch that is 40 dB softer than the loudest, as edges are found."""
    window = max(1, round(_WINDOW_S * sample_rate_hz))
    starts = np.arange(0, len(pcm), window)
    if not len(starts):
        return np.zeros((0, 2), np.int64)
    rms = np.sqrt(np.add.reduceat(np.square(pcm), starts) / np.minimum(window, len(pcm) - starts))
    quiet = np.concatenate([[False], rms < rms.max() * RELATIVE_THRESHOLD, [False]])
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8)))
    found = edges.reshape(-1, 2) * window
    return found[found[:, 1] - found[:, 0] >= round(LEAST_S * sample_rate_hz)]


def _nearest(silences: NDArray[np.int64], first: int, stop: int) -> tuple[int, int] | None:
    """The longest that touches the stretch."""
    near = silences[(silences[:, 1] >= first) & (silences[:, 0] <= stop)]
    if not len(near):
        return None
    longest = near[int(np.argmax(near[:, 1] - near[:, 0]))]
    return int(longest[0]), int(longest[1])
