"""How well the speech of a few words fits its phones: a recogniser guesses what it cannot hear in so short a line."""

from __future__ import annotations

import numpy as np

from worker.engine.convolutions import log_softmax
from worker.engine.interface import Speech
from worker.speech.alignment.aligner import english_sounds, sound_scores
from worker.speech.alignment.features import features
from worker.speech.alignment.sounds import SOUNDS
from worker.speech.alignment.states import SILENCE_COLUMN
from worker.speech.alignment.viterbi import States, best_path
from worker.speech.audio.samples import to_samples

WORST = 5.0
"""The most by which a phone is unlike, in natural logarithms of likelihoods: one that is slurred must not decide."""

_USUAL = 2.0
"""How far a frame of good speech is unlike its phone, for a consonant's closure or a slurred vowel."""

_NAMES = (
    "A=ey|I=ay|O=ow|Q=ow|W=aw|Y=oy|a=ae|e=ey|o=ao|ɑ=aa|ɒ=aa|æ=ae|ɔ=ao|ə=ah|ɐ=ah|ᵊ=ah|ʌ=ah|ɛ=eh|ɜ=er|i=iy|ɪ=ih|"
    "ᵻ=ih|u=uw|ʊ=uh|b=b|d=d|f=f|h=hh|j=y|k=k|l=l|m=m|n=n|p=p|s=s|t=t|T=t|ɾ=t|ʔ=t|v=v|w=w|z=z|ð=dh|θ=th|ʃ=sh|ʒ=zh|"
    "ʤ=jh|ʧ=ch|ɡ=g|ŋ=ng|ɹ=r"
)
_COLUMNS = {phone: SOUNDS.index(name) for phone, _, name in (pair.partition("=") for pair in _NAMES.split("|"))}
"""Kokoro's alphabet in that of the aligner."""


def misfit(speech: Speech) -> tuple[float, float]:
    """(unlike, extra) of audible speech that has phones. unlike: the mean over the phones of how much likelier other
    sounds are, 0 to `WORST`, which too short a speech has. extra: the greatest sum over a stretch of 10 ms frames of
    what is beyond the usual; a second of other speech has some 200.
    """
    columns = [SILENCE_COLUMN]
    # Silence may lie around each word. An "r" behind these vowels is no sound apart.
    for word in speech.phones.replace("ɜɹ", "ɜ").replace("əɹ", "ɜ").split():
        columns += [_COLUMNS[sign] for sign in word if sign in _COLUMNS]
        columns += [SILENCE_COLUMN] if columns[-1] != SILENCE_COLUMN else []
    states = States(np.array(columns), np.array(columns) == SILENCE_COLUMN)
    heard = features(to_samples(speech.pcm), speech.sample_rate_hz)
    if len(heard) <= len(columns):
        return WORST, 0.0
    sounds = english_sounds()
    scores = sound_scores(log_softmax(sounds.hears(heard)), sounds)
    path = best_path(scores, states)
    unlike = scores.max(1) - scores[np.arange(len(path)), states.columns[path]]
    means = np.bincount(path, unlike, len(columns)) / np.maximum(np.bincount(path, minlength=len(columns)), 1)
    sums = np.cumsum(np.concatenate(([0.0], unlike - _USUAL)))
    extra = (sums - np.minimum.accumulate(sums)).max()
    return float(np.minimum(means[~states.skipped], WORST).mean()), float(extra)
