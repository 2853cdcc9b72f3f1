"""Another recogniser's word times, to hold ours against: forced alignment by PocketSphinx, which is no dependency.

`pip install pocketsphinx==5.1.1` brings program, acoustic model and dictionary (BSD).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import soxr
from numpy.typing import NDArray

from worker.speech.judging.judges import JudgeMissing

_RATE_HZ = 16_000
_FRAMES_PER_S = 100
_EDGE_S = 0.15
"""Silence before and after, which the recogniser wants."""

Times = tuple[float, float]


class ForcedAligner:
    def __init__(self) -> None:
        try:
            from pocketsphinx import Decoder  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise JudgeMissing("PocketSphinx is not installed: pip install pocketsphinx==5.1.1") from error
        self._decoder = Decoder(loglevel="FATAL")

    def knows(self, word: str) -> bool:
        return self._decoder.lookup_word(_plain(word)) is not None

    def words(self, pcm: NDArray[np.int16], rate_hz: int, words: Sequence[str]) -> list[Times] | None:
        """Start and end of each; None if a word is not in its dictionary or it cannot follow."""
        if not all(self.knows(word) for word in words):
            return None
        sound = soxr.resample(pcm.astype(np.float32), rate_hz, _RATE_HZ, quality="HQ")
        edge = np.zeros(round(_EDGE_S * _RATE_HZ), np.int16)
        whole = np.concatenate([edge, sound.clip(-32_768, 32_767).astype(np.int16), edge])
        self._decoder.set_align_text(" ".join(map(_plain, words)))
        self._decoder.start_utt()
        self._decoder.process_raw(whole.tobytes(), full_utt=True)
        self._decoder.end_utt()
        said = [each for each in self._decoder.seg() or () if not each.word.startswith("<")]
        said = [each for each in said if not each.word.startswith("[")]
        if [re.sub(r"\(\d+\)$", "", each.word) for each in said] != [_plain(word) for word in words]:
            return None
        return [
            (each.start_frame / _FRAMES_PER_S - _EDGE_S, (each.end_frame + 1) / _FRAMES_PER_S - _EDGE_S)
            for each in said
        ]


def _plain(word: str) -> str:
    return re.sub(r"[^a-z']", "", word.lower()).strip("'")
