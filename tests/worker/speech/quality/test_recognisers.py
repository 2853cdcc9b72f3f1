"""Which recogniser a worker has is what its settings say, or an error that says what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.listening import RecogniserPool, compared, longest_run_allowed, word_findings
from worker.speech.quality.recognisers.choice import RecogniserChoice
from worker.speech.quality.recognisers.installed import RecogniserUnusable, worker_recognisers
from worker.speech.quality.recognisers.whisper import LANGUAGE_CODES

LANGUAGES = ("English", "german")
SPEECH = Speech(np.ones(24_000, np.float32), np.zeros((13, 16), np.int16), 24_000, FinishReason.EOS, 0.0)


class Told:
    """Reads what it was told, and counts how many of it there are."""

    made = 0

    def __init__(self, text: str) -> None:
        Told.made += 1
        self._text = text

    def transcribe(self, pcm: object, sample_rate_hz: int) -> str:
        return self._text


def test_no_recogniser_is_a_choice() -> None:
    assert worker_recognisers(RecogniserChoice.NONE, None, "cpu", LANGUAGES, 1) == {}


@pytest.mark.parametrize("choice", [RecogniserChoice.MOONSHINE, RecogniserChoice.AUTO])
def test_the_small_recogniser_knows_english_alone(choice: RecogniserChoice) -> None:
    assert set(worker_recognisers(choice, None, "cpu", LANGUAGES, 1)) == {"English"}


def test_a_newer_package_without_weights_is_no_recogniser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = tmp_path / "moonshine_voice"
    newer.mkdir()
    (newer / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    assert worker_recognisers(RecogniserChoice.AUTO, None, "cpu", LANGUAGES, 1) == {}
    with pytest.raises(RecogniserUnusable, match=r"moonshine-voice 0\.1\.0: pip install 'rhapsode\[listening\]'"):
        worker_recognisers(RecogniserChoice.MOONSHINE, None, "cpu", LANGUAGES, 1)


@pytest.mark.parametrize("choice", [RecogniserChoice.WHISPER, RecogniserChoice.AUTO])
def test_a_folder_without_a_model_stops_the_worker(choice: RecogniserChoice, tmp_path: Path) -> None:
    with pytest.raises(RecogniserUnusable, match="RHAPSODE_WHISPER_MODEL"):
        worker_recognisers(choice, tmp_path, "cpu", LANGUAGES, 1)


def test_whisper_is_for_the_languages_that_both_know(tmp_path: Path) -> None:
    """The weights are loaded with the first segment that is read back, so any file will do here."""
    (tmp_path / "model.bin").write_bytes(b"")

    found = worker_recognisers(RecogniserChoice.WHISPER, tmp_path, "cpu", (*LANGUAGES, "klingon"), 1)

    assert set(found) == set(LANGUAGES)
    assert len(LANGUAGE_CODES) == 10


def test_an_instance_is_made_when_it_is_needed_and_used_again() -> None:
    Told.made = 0
    pool = RecogniserPool(lambda: Told("one two"))

    heard = [pool.transcribe(SPEECH) for _ in range(3)]

    assert (heard, Told.made) == (["one two"] * 3, 1)


def test_each_language_is_compared_by_its_own_words() -> None:
    english = compared("It is 9.", "It's nine.", "English")
    german = compared("Größe zählt.", "größe zählt", "german")

    assert (english.errors.errors, german.errors.errors) == (0, 0)


@pytest.mark.parametrize(("words", "run"), [(6, 4), (30, 4), (50, 6), (100, 12)])
def test_a_run_of_other_words_is_found_from_a_length_that_follows_from_the_text(words: int, run: int) -> None:
    text = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}q" for number in range(words)]

    kept, lost = (compared(" ".join(text), " ".join(text[count:]), "english") for count in (run, run + 1))

    assert longest_run_allowed(words) == run
    assert word_findings(kept) == []
    assert [finding.defect for finding in word_findings(lost)] == ["wrong_words"]
