"""The ends of sentences are found in real speech; what says something else is left alone."""

from __future__ import annotations

import numpy as np

from tests.worker.speech.postprocessing.speech_to_finish import MOON, moon_twice
from worker.speech.postprocessing.sentence_ends import PauseKeeper, SentencePauses


def test_speech_is_parted_between_its_sentences() -> None:
    speech = moon_twice()
    half = len(speech.pcm) // 2

    made = PauseKeeper().held(speech.pcm, speech.sample_rate_hz, SentencePauses((MOON, MOON), 0.8))

    assert (made.held, made.left) == (1, 0)
    more = len(made.pcm) - len(speech.pcm)
    assert 0.6 < more / speech.sample_rate_hz < 0.8
    before, behind = half - 1_200, half + 1_200
    np.testing.assert_array_equal(made.pcm[:before], speech.pcm[:before])
    np.testing.assert_array_equal(made.pcm[behind + more :], speech.pcm[behind:])


def test_what_says_something_else_stays_as_it_was_spoken() -> None:
    speech = moon_twice()
    other = ("She sold eleven hundred yellow umbrellas at Wembley.", "Is that what you would have me believe, George?")

    for sentences in (other, (MOON, "...", MOON)):
        made = PauseKeeper().held(speech.pcm, speech.sample_rate_hz, SentencePauses(sentences, 0.8))

        assert (made.held, made.left) == (0, len(sentences) - 1)
        assert made.pcm is speech.pcm
