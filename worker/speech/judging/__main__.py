"""Judges recordings of any speaker: reads a line of JSON for each, and says one. Ends with its input.

python -m worker.speech.judging [--whisper DIR] [--reference WAV]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import soundfile
from numpy.typing import NDArray

from worker.engine.interface import FinishReason, Pcm, Speech
from worker.speech.judging.judges_here import find_encoder, find_quality_judge
from worker.speech.judging.messages import JudgedRecording, Likeness, Message, NotJudged, Recording
from worker.speech.judging.reading import ENGLISH, read_against
from worker.speech.quality.listening import Recognisers
from worker.speech.quality.measures import SpeechMeasures, measure
from worker.speech.quality.recognisers.choice import RecogniserChoice
from worker.speech.quality.recognisers.installed import RecogniserUnusable, worker_recognisers

if TYPE_CHECKING:
    from worker.speech.judging.judges import QualityJudge, SimilarityEncoder

T = TypeVar("T")

_LANGUAGES = (ENGLISH, "chinese")
_NO_FRAMES = np.zeros((0, 1), np.int16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whisper", type=Path, help="a folder of weights, else Moonshine reads")
    parser.add_argument("--reference", type=Path, help="the voice that recordings are to be alike to")
    arguments = parser.parse_args()
    judges = _set_up(arguments.whisper)
    for line in sys.stdin:
        say(judges.judge(Recording(**json.loads(line))))
    for likeness in judges.likenesses(arguments.reference):
        say(likeness)


def _set_up(whisper: Path | None) -> Judges:
    """The connected judges, and a line on each missing one."""
    recognisers: Recognisers = {}
    try:
        recognisers = worker_recognisers(RecogniserChoice.AUTO, whisper, "cpu", _LANGUAGES, places=1)
    except RecogniserUnusable as error:
        say(NotJudged("words", str(error)))
    else:
        if not recognisers:
            say(NotJudged("words", "no recogniser is installed: pip install 'rhapsode[listening]'"))
    return Judges(recognisers, _if_found(find_encoder()), _if_found(find_quality_judge()))


def _if_found(found: T | NotJudged) -> T | None:
    if not isinstance(found, NotJudged):
        return found
    say(found)
    return None


@dataclass
class Judges:
    """The connected clients, and the voices of the speech that they had judged."""

    recognisers: Recognisers
    encoder: SimilarityEncoder | None
    quality_judge: QualityJudge | None
    _voices: dict[str, Pcm] = field(default_factory=dict[str, Pcm])

    def judge(self, recording: Recording) -> JudgedRecording:
        """Raises soundfile's LibsndfileError for what is no WAV."""
        pcm, rate_hz = _read(Path(recording.path))
        speech = _speech(pcm, rate_hz)
        recogniser = self.recognisers.get(recording.language)
        heard = None if recogniser is None else recogniser.transcribe(speech)
        reading = None if heard is None else read_against(recording.text, heard, recording.language)
        measures = measure(speech)
        spoken = _without_edges(pcm, measures, rate_hz)
        if self.encoder is not None and len(spoken):
            self._voices[recording.path] = self.encoder.embed(spoken, rate_hz)
        return JudgedRecording(
            path=recording.path,
            heard=heard,
            **(asdict(reading) if reading else {}),
            mos=self._score(spoken, rate_hz),
            speech_s=round(measures.speech_s, 3),
            loudness_db=round(measures.loudness_db, 2),
            clipped_share=measures.clipped_share,
            leading_s=round(measures.leading_s, 3),
            trailing_s=round(measures.trailing_s, 3),
            longest_pause_s=round(measures.longest_pause_s, 3),
            words_per_s=round(reading.words / measures.speech_s, 3) if reading and measures.speech_s else None,
        )

    def likenesses(self, reference: Path | None) -> list[Likeness]:
        """None of a single recording without a reference: it has no other to be alike to."""
        if self.encoder is None:
            return []
        given: Pcm | None = None
        if reference is not None:
            pcm, rate_hz = _read(reference)
            spoken = _without_edges(pcm, measure(_speech(pcm, rate_hz)), rate_hz)
            given = self.encoder.embed(spoken if len(spoken) else pcm, rate_hz)
        return [
            Likeness(path, round(float(np.mean([np.dot(voice, other) for other in others])), 4))
            for path, voice in self._voices.items()
            if (others := [given] if given is not None else self._others(path))
        ]

    def _others(self, path: str) -> Sequence[NDArray[np.float32]]:
        return [voice for other, voice in self._voices.items() if other != path]

    def _score(self, spoken: Pcm, rate_hz: int) -> float | None:
        if self.quality_judge is None or not len(spoken):
            return None
        return round(self.quality_judge.score(spoken, rate_hz), 3)


def _read(path: Path) -> tuple[Pcm, int]:
    """Of one channel: several are taken together."""
    samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    return np.asarray(samples, np.float32).mean(axis=1), rate_hz


def _speech(pcm: Pcm, rate_hz: int) -> Speech:
    return Speech(pcm, _NO_FRAMES, rate_hz, FinishReason.EOS, 0.0)


def _without_edges(pcm: Pcm, measures: SpeechMeasures, rate_hz: int) -> Pcm:
    begin = round(measures.leading_s * rate_hz)
    return pcm[begin : begin + round(measures.speech_s * rate_hz)]


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(asdict(message)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
