"""The time of each word of a text in its speech. No thread-safety is promised; no file but the weights is read.

English is aligned. One small network names the sound of every 10 ms, and another predicts the sounds of the words. The
likeliest path through both gives the times. If they do not fit, and for other languages, times are estimated: words
share the audible time by their length. The result says which method was used.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from reading.estimates import speech_units
from worker.engine.convolutions import ConvolutionStack, Floats, load_stack, log_softmax
from worker.engine.model.pulled import ALIGNER
from worker.speech.alignment.features import FRAME_S, features
from worker.speech.alignment.pronunciation import Pronouncer
from worker.speech.alignment.states import ANY_SOUND, SILENCE_COLUMN, AlignedSound, word_states
from worker.speech.alignment.viterbi import IntArray, States, best_path

HOP_S = 0.01

_QUIETER = 0.02
"""Than the loudest, and it counts as silence: 34 dB."""
_LEAST_SILENCE = 12
"""Hops: what is shorter is the closure of a consonant."""
_OF_A_WORD = 0.5
_ROUNDING = 1e-6

SURE = -2.1
"""The mean logarithm of a sound's probability from which nothing else is asked: another text never had it."""
DOUBTFUL = -2.8
"""Below it the speech says something else than the text, or in a way that the networks cannot follow."""
_LEAST_ADVANTAGE = 1.0
"""Of the text over itself read backwards, where it is doubtful: noise and other texts have none."""

_PRIOR_SHARE = np.float32(0.5)
_WORST = np.float32(-7.0)
"""However unlike a sound is: one that was slurred must not move all others."""
_ANY_COST = np.float32(3.0)
_LEAST_FRAMES = 2.5
"""A sound on the average: nobody speaks faster, and silence holds a frame of each at most."""
_LEAST_SWING = 64
"""From the lowest sample to the highest: less is silence, -60 dB."""
_MOST_CELLS = 30_000_000
"""Frames by states: two minutes of speech. The search takes a byte and 15 ns for each."""


class Method(enum.StrEnum):
    ALIGNED = "aligned"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class WordTime:
    """bounds: when each character of the word begins, and at last when the word ends; in seconds, never falling."""

    bounds: tuple[float, ...]

    @property
    def start_s(self) -> float:
        return self.bounds[0]

    @property
    def end_s(self) -> float:
        return self.bounds[-1]


@dataclass(frozen=True, slots=True)
class WordTimes:
    """words: of each word that was given, from the first sample on."""

    method: Method
    words: tuple[WordTime, ...]


class WordAligner:
    def __init__(self, sounds: EnglishSounds | None = None) -> None:
        """sounds: those that come with the package, unless others are given."""
        self._sounds = sounds or english_sounds()
        self._pronouncer = Pronouncer(self._sounds.spells)

    def align(self, pcm: NDArray[np.int16], sample_rate_hz: int, words: Sequence[str], *, english: bool) -> WordTimes:
        """words: as they are spoken, in order, none empty. pcm: 16-bit samples of these words alone."""
        if english and words and _is_heard(pcm, sample_rate_hz):
            aligned = self._aligned(features(pcm, sample_rate_hz), words)
            if aligned is not None:
                return WordTimes(Method.ALIGNED, aligned)
        estimated = character_times(pcm, sample_rate_hz, words)
        return WordTimes(Method.ESTIMATED, tuple(WordTime(tuple(each)) for each in estimated))

    def _aligned(self, heard: Floats, words: Sequence[str]) -> tuple[WordTime, ...] | None:
        """None if the text does not fit the audio: it says something else, or is too short."""
        wanted = word_states(words, self._pronouncer)
        num_sounds = sum(sound is not None for sound in wanted.sounds)
        if not num_sounds or not num_sounds < len(heard) <= _MOST_CELLS // len(wanted.sounds):
            return None
        likely = log_softmax(self._sounds.hears(heard))
        likelihoods = sound_scores(likely, self._sounds)
        any_sound = likelihoods[:, 1:].max(1, keepdims=True) - _ANY_COST
        scores = np.concatenate([likelihoods, any_sound], 1)
        path = best_path(scores, wanted.states)
        if np.count_nonzero(wanted.states.columns[path] != SILENCE_COLUMN) < _LEAST_FRAMES * num_sounds:
            return None
        confidence = _confidence(likely, path, wanted.states)
        if confidence < DOUBTFUL:
            return None
        if confidence < SURE:
            backwards = wanted.states.backwards
            other = _confidence(likely, best_path(scores, backwards), backwards)
            if confidence < other + _LEAST_ADVANTAGE:
                return None
        return word_bounds(path, wanted.sounds, words)


def sound_scores(likely: Floats, sounds: EnglishSounds) -> Floats:
    """How well each sound fits each frame, (frames, sounds). likely: logarithms of their probabilities."""
    scores = likely - _PRIOR_SHARE * sounds.log_prior
    return np.maximum(scores, scores.max(1, keepdims=True) + _WORST)


def _is_heard(pcm: NDArray[np.int16], sample_rate_hz: int) -> bool:
    return len(pcm) >= sample_rate_hz * FRAME_S and int(pcm.max()) - int(pcm.min()) > _LEAST_SWING


def word_bounds(path: IntArray, sounds: Sequence[AlignedSound | None], words: Sequence[str]) -> tuple[WordTime, ...]:
    """path: the state of each frame; sounds: of the states. A word without a sound stands where the one before ends."""
    edges = [[-1.0] * (len(word) + 1) for word in words]
    firsts = np.flatnonzero(np.diff(path, prepend=-1))
    ends = [*firsts[1:].tolist(), len(path)]
    for first, end in zip(firsts.tolist(), ends, strict=True):
        sound = sounds[int(path[first])]
        if sound is not None:
            bounds = edges[sound.word]
            if bounds[sound.character] < 0:
                bounds[sound.character] = first * FRAME_S
            bounds[-1] = end * FRAME_S
    now = 0.0
    found: list[WordTime] = []
    for bounds in edges:
        found.append(WordTime(tuple(_filled(bounds, now))))
        now = found[-1].end_s
    return tuple(found)


def _filled(bounds: list[float], now: float) -> list[float]:
    """A silent character starts with the next audible one; the first one, with the word."""
    following = max(bounds[-1], now)
    for number in range(len(bounds) - 1, -1, -1):
        if bounds[number] < 0:
            bounds[number] = following
        following = bounds[number]
    return bounds


def _confidence(likely: Floats, path: IntArray, states: States) -> float:
    """The mean logarithm of a sound's probability. What no letter tells is left out; if nothing else is there, the
    likeliest sounds count."""
    columns = states.columns[path]
    told = (columns != SILENCE_COLUMN) & (columns != ANY_SOUND)
    if not told.any():
        return float(likely.max(1).mean())
    return float(likely[told, columns[told]].mean())


@dataclass(frozen=True, slots=True)
class EnglishSounds:
    """hears: features to scores of the sounds. log_prior: how likely each is of itself. spells: letters to sounds."""

    hears: ConvolutionStack
    log_prior: Floats
    spells: ConvolutionStack


@cache
def english_sounds() -> EnglishSounds:
    return load_networks(ALIGNER)


def load_networks(folder: Path) -> EnglishSounds:
    hearing: Mapping[str, NDArray[np.float16]] = load_file(folder / "sounds.safetensors")
    spelling: Mapping[str, NDArray[np.float16]] = load_file(folder / "spelling.safetensors")
    return EnglishSounds(load_stack(hearing), hearing["log_prior"].astype(np.float32), load_stack(spelling))


def character_times(pcm: NDArray[np.int16], sample_rate_hz: int, words: Sequence[str]) -> list[list[float]]:
    """For each word when each of its characters begins, and at last when it ends, in seconds."""
    clock = np.concatenate(([0.0], np.cumsum(_sounding(pcm, sample_rate_hz))))
    weights = [speech_units(word) + _OF_A_WORD for word in words]
    times: list[list[float]] = []
    said = 0.0
    for word, weight in zip(words, weights, strict=True):
        shares = said + weight * np.arange(len(word) + 1) / len(word)
        said += weight
        places = (shares / sum(weights) * clock[-1]).clip(0, clock[-1] - _ROUNDING)
        # A word starts after a silence and ends before one.
        begins = np.searchsorted(clock, places[:-1] + _ROUNDING, "right") - 1
        ends = np.searchsorted(clock, places[-1:] - _ROUNDING, "left")
        hops = np.concatenate([begins + places[:-1] - clock[begins], ends + places[-1:] - clock[ends]])
        times.append(np.maximum.accumulate(hops * HOP_S).tolist())
    return times


def _sounding(pcm: NDArray[np.int16], sample_rate_hz: int) -> NDArray[np.float64]:
    """One for each hop with sound, else nothing; all ones if there is none."""
    hop = max(1, round(sample_rate_hz * HOP_S))
    hops = max(1, len(pcm) // hop)
    samples = np.pad(pcm.astype(np.float32), (0, max(0, hop - len(pcm))))[: hops * hop]
    loudness = np.sqrt(np.square(samples.reshape(hops, hop)).mean(1))
    sounding = (loudness > loudness.max() * _QUIETER).astype(np.float64)
    changes = np.flatnonzero(np.diff(sounding)) + 1
    for start, end in itertools.pairwise(changes):
        if not sounding[start] and end - start < _LEAST_SILENCE:
            sounding[start:end] = 1.0
    return sounding if sounding.any() else np.ones(hops)
