"""Lines of one or two words, spoken by the default voice, are the words that a recogniser reads back."""

from __future__ import annotations

import numpy as np

from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.kokoro.engine import KokoroEngine
from worker.engine.kokoro.voices import DEFAULT_VOICE
from worker.engine.settings import KokoroEngineSettings
from worker.settings import PACKAGED
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import NO_WORDS, word_errors

LINES = ("Sorry.", "Help!", "Today.", "Certainly.", "Really?", "Everything.", "London.", "Good morning.", "No thanks.")


def test_short_lines_are_the_words_and_no_others(recogniser: MoonshineTiny) -> None:
    engine = KokoroEngine(KokoroEngineSettings(PACKAGED["kokoro"], 1))
    spoken = [
        engine.submit(SpeechRequest(str(number), line, BuiltInSpeaker(DEFAULT_VOICE))).result(60)
        for number, line in enumerate(LINES)
    ]
    engine.close()

    read = [recogniser.transcribe(np.asarray(each.pcm, np.float32), each.sample_rate_hz) for each in spoken]
    errors = sum((word_errors(*pair) for pair in zip(LINES, read, strict=True)), NO_WORDS)
    assert errors.words == 11
    assert errors.errors <= 1, read
