"""Where the sentences of an utterance end, found in its samples, and the pauses there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from reading.english.front_end import respell_english
from reading.spelling.spoken import SpokenText
from worker.engine.interface import Pcm
from worker.speech.alignment.aligner import Method, WordAligner
from worker.speech.alignment.words import words_of
from worker.speech.audio.samples import to_samples
from worker.speech.audio.sentence_pauses import HeldPauses, with_pauses


@dataclass(frozen=True, slots=True)
class SentencePauses:
    """sentences: as they are spoken, at least two, in English. pause_s: what is to be heard between two."""

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
        said = [[word.text for word in words_of(_read_english(text))] for text in sentences]
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


def _read_english(spoken: str) -> str:
    return SpokenText(spoken, list(respell_english(spoken, 0, len(spoken)))).text
