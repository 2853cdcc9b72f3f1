"""Judges recordings of any speaker: reads a line of JSON for each, and says one. Ends with its input.

python -m worker.speech.judging
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import soundfile

from worker.engine.interface import FinishReason, Speech
from worker.speech.judging.messages import Judged, Message, NoRecogniser, Recording
from worker.speech.quality.listening import RecogniserPool
from worker.speech.quality.measures import measure
from worker.speech.quality.recognisers.choice import RecogniserChoice
from worker.speech.quality.recognisers.installed import worker_recognisers
from worker.speech.quality.words.word_errors import word_errors

ENGLISH = "english"
_NO_FRAMES = np.zeros((0, 1), np.int16)


def main() -> None:
    pool = worker_recognisers(RecogniserChoice.AUTO, None, "cpu", [ENGLISH], places=1).get(ENGLISH)
    if pool is None:
        say(NoRecogniser("no recogniser is installed: pip install 'rhapsode[listening]'"))
    for line in sys.stdin:
        say(judge(Recording(**json.loads(line)), pool))


def judge(recording: Recording, recogniser: RecogniserPool | None) -> Judged:
    """recogniser: of English; None: words are not counted. Raises soundfile's LibsndfileError for what is no WAV."""
    samples, rate_hz = soundfile.read(Path(recording.path), dtype="float32")
    pcm = np.asarray(samples, np.float32)
    speech = Speech(pcm, _NO_FRAMES, rate_hz, FinishReason.EOS, 0.0)
    heard = recogniser.transcribe(speech) if recogniser is not None and recording.is_english else None
    errors = None if heard is None else word_errors(recording.text, heard)
    measures = measure(speech)
    return Judged(
        path=recording.path,
        heard=heard,
        words=None if errors is None else errors.words,
        errors=None if errors is None else errors.errors,
        speech_s=round(measures.speech_s, 3),
        loudness_db=round(measures.loudness_db, 2),
        clipped_share=measures.clipped_share,
        leading_s=round(measures.leading_s, 3),
        trailing_s=round(measures.trailing_s, 3),
        longest_pause_s=round(measures.longest_pause_s, 3),
        words_per_s=round(errors.words / measures.speech_s, 3) if errors is not None and measures.speech_s else None,
    )


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(asdict(message)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
