"""How a word that no dictionary has is said, guessed from its letters by a small network of convolutions.

A letter has two slots for sounds; a vowel and its stress are one sound. The accent is an input beside the letters.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from worker.engine.convolutions import ConvolutionStack, Floats, load_stack, log_softmax
from worker.engine.kokoro.phones.dictionary import FOLDER, Accent

PRIMARY, SECONDARY = "ˈ", "ˌ"
VOWELS = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊᵻ"

LETTERS = "abcdefghijklmnopqrstuvwxyz'"
INPUTS = len(LETTERS) + 1
SLOTS = 2
NOTHING = 0
"""The sound of a slot without one."""
SOUNDS = (
    "",
    *"Tbdfhjklmnpstvwzðŋɡɹʃʒʤʧθ",
    *(
        stress + vowel
        for vowel in (*VOWELS, *(f"{each}ː" for each in "iuɑɔəɛɜ"))
        for stress in ("", PRIMARY, SECONDARY)
    ),
)
MOST_LETTERS = 40
WEIGHTS = FOLDER.with_name("weights") / "unknown_words.safetensors"

_KEPT_WORDS = 20_000
_VOWEL_SOUNDS = frozenset(number - 1 for number, sound in enumerate(SOUNDS) if sound.startswith(PRIMARY))
"""Each is followed by the same with the first and the second stress."""
_SAME_SOUND = np.eye(len(SOUNDS), dtype=np.float32)
for _vowel in _VOWEL_SOUNDS:
    _SAME_SOUND[_vowel + 1 : _vowel + 3, _vowel] = 1
    _SAME_SOUND[_vowel + 1 : _vowel + 3, _vowel + 1 : _vowel + 3] = 0


@lru_cache(_KEPT_WORDS)
def guessed(word: str, accent: Accent) -> str:
    """word: of `LETTERS` alone, one at least and `MOST_LETTERS` at most."""
    return read(_network()(spelling(word, accent)).reshape(-1, len(SOUNDS)))


def spelling(word: str, accent: Accent) -> Floats:
    """A one for each letter, (letters, inputs); the last input is the accent."""
    spelt = np.zeros((len(word), INPUTS), np.float32)
    spelt[np.arange(len(word)), [LETTERS.index(letter) for letter in word]] = 1
    spelt[:, -1] = accent is Accent.BRITISH
    return spelt


def read(scores: Floats) -> str:
    """The likeliest sound of each slot, whatever its stress; one that goes on over several slots is one sound.

    The vowel that is likeliest to have the stress has it."""
    likely = np.exp(log_softmax(scores))
    best: NDArray[np.int64] = (likely @ _SAME_SOUND).argmax(1)
    begins = np.flatnonzero((best != NOTHING) & (best != np.concatenate(([NOTHING], best[:-1]))))
    plain, said = best[begins], likely[begins]
    vowels = [at for at, sound in enumerate(plain) if sound in _VOWEL_SOUNDS]
    loudest = max(
        vowels, key=lambda at: said[at, plain[at] + 1] / said[at, plain[at] : plain[at] + 3].sum(), default=-1
    )
    if vowels and SOUNDS[plain[loudest]] in "ᵊᵻ":
        plain[loudest] = max(_VOWEL_SOUNDS, key=lambda sound: said[loudest, sound + 1])
    sounds: list[str] = []
    for at, sound in enumerate(plain):
        is_weak = at not in vowels or said[at, sound] >= said[at, sound + 1] + said[at, sound + 2]
        sounds.append(SOUNDS[sound + 1 if at == loudest else sound if is_weak else sound + 2])
    return "".join(sounds)


@cache
def _network() -> ConvolutionStack:
    return load_stack(load_file(WEIGHTS))
