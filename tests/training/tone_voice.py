"""A teacher without a model: every word a tone, every tone some phones, all of it a function of the text."""

from __future__ import annotations

import numpy as np

from training.corpus.rows import spoken_words
from training.dimensions import PHONES
from training.speech.voices import Spoken

RATE_HZ = 16_000
PAUSE_S, WORD_S, PHONES_OF_WORD = 0.2, 0.4, 4


class ToneVoice:
    """`Voice` at one pitch."""

    def __init__(self, pitch_hz: float) -> None:
        self._pitch_hz = pitch_hz

    def speak(self, text: str) -> Spoken:
        words = spoken_words(text)
        starts = [PAUSE_S + number * WORD_S for number in range(len(words))]
        length_s = 2 * PAUSE_S + len(words) * WORD_S
        phones = [("pau", PAUSE_S)]
        for word, start_s in zip(words, starts, strict=True):
            names = [PHONES[1 + ord(letter) % (len(PHONES) - 1)] for letter in (word * PHONES_OF_WORD)[:PHONES_OF_WORD]]
            phones += [(name, start_s + (n + 1) * WORD_S / PHONES_OF_WORD) for n, name in enumerate(names)]
        phones.append(("pau", length_s))
        tokens = tuple((start_s, start_s + WORD_S) for start_s in starts)
        return Spoken(self._samples(words, round(length_s * RATE_HZ)), RATE_HZ, tuple(phones), tokens)

    def _samples(self, words: list[str], size: int) -> np.ndarray:
        samples = np.random.default_rng(size).normal(0, 1e-3, size).astype(np.float32)
        for number, word in enumerate(words):
            first = round((PAUSE_S + number * WORD_S) * RATE_HZ)
            at = np.arange(round(WORD_S * RATE_HZ)) / RATE_HZ
            for harmonic, letter in enumerate(word[:4], start=1):
                hz = self._pitch_hz * (harmonic + ord(letter) % 7)
                samples[first : first + len(at)] += 0.05 * np.sin(2 * np.pi * hz * at).astype(np.float32)
        return samples
