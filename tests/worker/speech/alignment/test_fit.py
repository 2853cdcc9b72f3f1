"""Speech of a few words fits the phones that it was to say, and not those of other words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from worker.engine.interface import BuiltInSpeaker, Speech, SpeechRequest
from worker.engine.kokoro.engine import KokoroEngine
from worker.engine.kokoro.phones import phones_of
from worker.engine.kokoro.voices import DEFAULT_VOICE, accent_of
from worker.engine.settings import KokoroEngineSettings
from worker.settings import PACKAGED
from worker.speech.alignment.fit import WORST, misfit
from worker.speech.quality.calibration.calibration_file import FILE_NAME, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.findings import Defect

LINE, OTHER = "Silver candles.", "Remember me."
BOUNDS = read_calibration(PACKAGED["kokoro"] / FILE_NAME).bounds("english", DEFAULT_VOICE)


@pytest.fixture(scope="module")
def spoken() -> dict[str, Speech]:
    engine = KokoroEngine(KokoroEngineSettings(PACKAGED["kokoro"], 1))
    requests = {text: SpeechRequest(text, text, BuiltInSpeaker(DEFAULT_VOICE)) for text in (LINE, OTHER)}
    speeches = {text: engine.submit(request).result(60) for text, request in requests.items()}
    engine.close()
    return speeches


def found(speech: Speech, text: str) -> list[Defect]:
    return [each.defect for each in basic_findings(speech, text, BOUNDS)]


def test_the_engine_says_the_phones_and_its_speech_fits_them(spoken: dict[str, Speech]) -> None:
    speech = spoken[LINE]

    assert speech.phones == phones_of(LINE, accent_of(DEFAULT_VOICE))
    assert found(speech, LINE) == []


def test_other_words_and_other_speech_behind_them_do_not_fit(spoken: dict[str, Speech]) -> None:
    speech, other = spoken[LINE], spoken[OTHER]
    longer = replace(speech, pcm=np.concatenate((speech.pcm, other.pcm)))

    assert Defect.WRONG_WORDS in found(replace(speech, phones=other.phones), OTHER)
    assert Defect.WRONG_WORDS in found(longer, LINE)
    assert misfit(longer)[1] > misfit(speech)[1] + 100


def test_an_engine_without_phones_and_longer_lines_are_not_judged_so(spoken: dict[str, Speech]) -> None:
    unknown, wrong = replace(spoken[LINE], phones=""), replace(spoken[LINE], phones=spoken[OTHER].phones)

    assert Defect.WRONG_WORDS not in found(unknown, OTHER)
    assert Defect.WRONG_WORDS not in found(wrong, "Remember me and him.")


def test_speech_shorter_than_its_phones_fits_worst(spoken: dict[str, Speech]) -> None:
    assert misfit(replace(spoken[LINE], pcm=spoken[LINE].pcm[:1_200])) == (WORST, 0.0)
