"""What the judges say about one voice's sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worker.speech.judging.judges import QualityJudge, SpeakerEncoder
from worker.speech.judging.mel import Floats
from worker.speech.quality.recognisers.interface import Recogniser
from worker.speech.quality.words.word_errors import NO_WORDS, WordErrors, word_errors


@dataclass(frozen=True, slots=True)
class Voice:
    """texts and sounds of the same number; a sound is (samples, Hz) without silence at its edges."""

    texts: tuple[str, ...]
    sounds: tuple[tuple[Floats, int], ...]


@dataclass(frozen=True, slots=True)
class VoiceScores:
    """exact: sentences without an error. quality, embedding: None when that judge was not there."""

    heard: tuple[str, ...]
    errors: WordErrors
    exact: int
    quality: float | None
    embedding: Floats | None


def voice_scores(
    voice: Voice, recogniser: Recogniser, encoder: SpeakerEncoder | None, judge: QualityJudge | None
) -> VoiceScores:
    heard = tuple(recogniser.transcribe(*sound) for sound in voice.sounds)
    errors = [word_errors(text, other) for text, other in zip(voice.texts, heard, strict=True)]
    return VoiceScores(
        heard=heard,
        errors=sum(errors, NO_WORDS),
        exact=sum(one.errors == 0 for one in errors),
        quality=float(np.mean([judge.score(*sound) for sound in voice.sounds])) if judge else None,
        embedding=_mean_embedding(voice, encoder) if encoder else None,
    )


def _mean_embedding(voice: Voice, encoder: SpeakerEncoder) -> Floats:
    mean = np.mean([encoder.embed(*sound) for sound in voice.sounds], axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)
