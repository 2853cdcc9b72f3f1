"""Whisper through faster-whisper (MIT), for languages that the small recogniser does not know.

The weights are a folder of a converted model (CTranslate2); nothing is downloaded here.
"""

from __future__ import annotations

from pathlib import Path

from faster_whisper import WhisperModel

from worker.engine.interface import Pcm
from worker.speech.quality.recognisers.interface import resampled

SAMPLE_RATE_HZ = 16_000

BEAMS = 1
"""Greedy: beams make errors sound more like the language, which is the opposite of what a gate listens for."""

LANGUAGE_CODES = {
    "chinese": "zh",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
}
"""Those that both the models and Whisper know, by the models' names."""


class FasterWhisper:
    """`Recogniser` for one language. The same samples give the same text; instances are not thread-safe.

    code: Whisper's name for the language. Raises ValueError or RuntimeError for a folder that holds no model.
    """

    def __init__(self, folder: Path, code: str, device: str = "cpu") -> None:
        kind, _, number = device.partition(":")
        self._code = code
        self._model = WhisperModel(
            str(folder), device=kind, device_index=int(number or 0), cpu_threads=1, local_files_only=True
        )

    def transcribe(self, pcm: Pcm, sample_rate_hz: int) -> str:
        samples = resampled(pcm, sample_rate_hz, SAMPLE_RATE_HZ)
        # Each clip for itself, with no fallback to sampling: a loop in the speech is to be read as one.
        segments, _ = self._model.transcribe(
            samples,
            language=self._code,
            beam_size=BEAMS,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments)
