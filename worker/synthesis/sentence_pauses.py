"""Whether the pauses inside a segment are the job's. Pure."""

from __future__ import annotations

from reading.languages.names import AUTO_LANGUAGE
from rhapsode.contract.jobs.input import InnerPauses, Pauses
from worker.speech.postprocessing.sentence_ends import SentencePauses
from worker.synthesis.spoken_segment import SpokenSegment

_ALIGNED = ("english", AUTO_LANGUAGE)
"""Languages whose sentences can be found in speech; of an unnamed one it is tried."""


def sentence_pauses(pauses: Pauses, segment: SpokenSegment) -> SentencePauses | None:
    """None for those that the model speaks."""
    if pauses.inside is InnerPauses.SPOKEN or len(segment.sentences) < 2:
        return None
    if segment.language.casefold() not in _ALIGNED:
        return None
    return SentencePauses(segment.sentences, pauses.sentence_s)
