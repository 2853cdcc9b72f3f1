"""Damage to what is said: samples and frames as an engine would send them, or good speech of another text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.worker.speech.quality.defects import SPOILS
from tests.worker.speech.quality.probes.given import Damage, Given, Probe
from worker.engine.interface import FinishReason
from worker.speech.quality.calibration.calibrate import Example

_NOT = "not"
_NUMBERS = ("seven", "twelve", "forty", "ninety")
_ANY_NUMBER = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "forty")
_NAMES = ("Margaret", "Dublin", "Harrison", "Oxford")
_SMALL = ("a", "the", "of", "so")
_PLAIN = ("window", "yellow", "captain", "morning", "remember", "silver", "garden", "together")


def _spoil(name: str) -> Damage:
    def damaged(given: Given, strength: float, rng: np.random.Generator) -> Example:
        return replace(given.example, speech=SPOILS[name](given.example.speech, rng))

    return damaged


def nothing(given: Given, strength: float, rng: np.random.Generator) -> Example:
    return given.sounding(np.zeros_like(given.pcm))


def other_text(given: Given, strength: float, rng: np.random.Generator) -> Example:
    return replace(given.example, speech=given.other.speech)


def backwards(given: Given, strength: float, rng: np.random.Generator) -> Example:
    return given.sounding(given.pcm[::-1].copy())


def babble(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """Behind the text, so many seconds of another one."""
    size = len(given.other.speech.pcm) // len(given.other.speech.frames)
    extra = min(len(given.other.speech.frames), round(strength * given.rate_hz / size))
    speech = given.example.speech
    return replace(
        given.example,
        speech=replace(
            speech,
            pcm=np.concatenate((speech.pcm, given.other.speech.pcm[: extra * size])),
            frames=np.concatenate((speech.frames, given.other.speech.frames[:extra])),
            finish_reason=FinishReason.EOS,
        ),
    )


def _without(choices: tuple[str, ...]) -> Damage:
    """The speech lacks a word that the text has."""

    def lost(given: Given, strength: float, rng: np.random.Generator) -> Example:
        words = given.example.text.split()
        words.insert(int(rng.integers(1, len(words))), str(rng.choice(choices)))
        return replace(given.example, text=" ".join(words))

    return lost


def _instead(choices: tuple[str, ...]) -> Damage:
    """The speech has a word where the text has another."""

    def replaced(given: Given, strength: float, rng: np.random.Generator) -> Example:
        words = given.example.text.split()
        place = int(rng.integers(1, len(words)))
        mark = words[place][-1] if not words[place][-1].isalnum() else ""
        words[place] = str(rng.choice(choices)) + mark
        return replace(given.example, text=" ".join(words))

    return replaced


def other_number(given: Given, strength: float, rng: np.random.Generator) -> Example:
    """The text has a number where the speech has another; as it is where it has none."""
    words = given.example.text.split()
    places = [place for place, word in enumerate(words[1:-1], 1) if word in _ANY_NUMBER]
    if places:
        place = int(rng.choice(places))
        words[place] = str(rng.choice([each for each in _ANY_NUMBER if each != words[place]]))
    return replace(given.example, text=" ".join(words))


def is_long_enough(given: Given) -> bool:
    """To lose a word and be a sentence still."""
    return len(given.example.text.split()) > 2


PROBES: tuple[Probe, ...] = (
    *(Probe(name.replace("_", " "), _spoil(name), (1,), "") for name in SPOILS),
    Probe("nothing", nothing, (1,), ""),
    Probe("babble behind", babble, (1, 2), "s"),
    Probe("another text", other_text, (1,), ""),
    Probe("backwards", backwards, (1,), ""),
)
WORD_PROBES: tuple[Probe, ...] = (
    Probe("a small word is lost", _without(_SMALL), (1,), ""),
    Probe("a word is lost", _without(_PLAIN), (1,), ""),
    Probe("a word is replaced", _instead(_PLAIN), (1,), ""),
    Probe("“not” is lost", _without((_NOT,)), (1,), ""),
    Probe("a number is lost", _without(_NUMBERS), (1,), ""),
    Probe("a number is replaced by another", other_number, (1,), ""),
    Probe("a name is lost", _without(_NAMES), (1,), ""),
)
