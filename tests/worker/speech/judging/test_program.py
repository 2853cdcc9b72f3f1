"""The judge of recordings, as `rhapsode bench --quality` starts it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from worker.speech.judging.judges_here import INSTALL, find_encoder, find_quality_judge
from worker.speech.judging.messages import NotJudged, Recording

SAMPLES = Path(__file__).resolve().parents[4] / "worker/small_voice/samples"
SAMPLE, OTHER, *_ = (str(path) for path in sorted(SAMPLES.glob("*.wav")))
RATE_HZ = 24_000


def said(recordings: list[Recording], *arguments: str) -> list[dict[str, object]]:
    """By one thread: beside other tests, a second one spends its time on waiting."""
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in recordings)
    outcome = subprocess.run(
        [sys.executable, "-m", "worker.speech.judging", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert outcome.returncode == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def judged(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    return [each for each in messages if each["kind"] == "judged"]


@dataclass(frozen=True)
class Judgements:
    """Of recordings of one sample and a buzz. wrong: of words that are not said in it."""

    wrong: dict[str, object]
    without_language: dict[str, object]
    buzz: dict[str, object]
    whole: dict[str, object]
    cut: dict[str, object]
    looped: dict[str, object]


@pytest.fixture(scope="module")
def alone() -> list[dict[str, object]]:
    """What is said of one sample by itself, beside a text that is not said in it."""
    return said([Recording(SAMPLE, "Nothing of this is said there at all.", "english")])


@pytest.fixture(scope="module")
def without_weights(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What is said of two samples beside the first as reference, where the weights of the recogniser are missing."""
    recordings = [Recording(path, "A text.", "english") for path in (SAMPLE, OTHER)]
    return said(recordings, "--reference", SAMPLE, "--whisper", str(tmp_path_factory.mktemp("no-weights")))


@pytest.fixture(scope="module")
def judgements(alone: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory) -> Judgements:
    """One more run, since each loads all the judges."""
    folder = tmp_path_factory.mktemp("recordings")
    buzz, cut, looped = (str(folder / name) for name in ("buzz.wav", "cut.wav", "looped.wav"))
    pcm, rate_hz = soundfile.read(SAMPLE)
    soundfile.write(cut, pcm[: len(pcm) // 3], rate_hz)
    soundfile.write(looped, np.concatenate([pcm, pcm]), rate_hz)
    times = np.arange(2 * RATE_HZ) / RATE_HZ
    tone = np.clip(1.5 * np.sin(2 * np.pi * 200 * times), -1, 1)
    quiet = np.zeros(RATE_HZ // 2)
    soundfile.write(buzz, np.concatenate([quiet, tone, quiet, quiet, tone]), RATE_HZ, subtype="PCM_16")

    (wrong,) = judged(alone)
    heard = str(wrong["heard"])
    recordings = [Recording(SAMPLE, heard, ""), Recording(buzz, "", "")]
    recordings += [Recording(path, heard, "english") for path in (SAMPLE, cut, looped)]
    return Judgements(wrong, *judged(said(recordings)))


def test_words_are_counted_of_english_and_sound_is_measured_of_all(judgements: Judgements) -> None:
    spoken, other, buzzed = judgements.wrong, judgements.without_language, judgements.buzz

    assert spoken["words"] == 8
    assert isinstance(errors := spoken["errors"], int)
    assert errors >= 6
    assert spoken["heard"]
    assert (other["words"], other["heard"], other["words_per_s"]) == (None, None, None)
    assert other["loudness_db"] == spoken["loudness_db"]
    assert isinstance(clipped := buzzed["clipped_share"], float)
    assert clipped > 0.3
    assert buzzed["leading_s"] == pytest.approx(0.5, abs=0.03)
    assert buzzed["longest_pause_s"] == pytest.approx(1.0, abs=0.05)


def test_what_is_said_as_it_is_written_has_no_errors(judgements: Judgements) -> None:
    assert judgements.whole["errors"] == 0
    assert judgements.whole["words"] != 0


def test_a_recording_that_is_cut_off_and_one_that_loops_are_told_from_a_whole_one(judgements: Judgements) -> None:
    found = (judgements.whole, judgements.cut, judgements.looped)

    assert [each["is_cut"] for each in found] == [False, True, False]
    assert [each["is_looped"] for each in found] == [False, False, True]
    assert judgements.whole["character_errors"] == 0


def test_voices_are_compared_with_the_reference_or_with_each_other(
    alone: list[dict[str, object]], without_weights: list[dict[str, object]], tmp_path: Path
) -> None:
    recordings = [Recording(path, "", "") for path in (SAMPLE, OTHER)]

    given = {each["path"]: each["cosine"] for each in without_weights if "cosine" in each}
    among = {each["path"]: each["cosine"] for each in said(recordings, "--whisper", str(tmp_path)) if "cosine" in each}

    assert given[SAMPLE] == pytest.approx(1.0, abs=1e-3)
    assert given[OTHER] == pytest.approx(among[OTHER], abs=1e-3)
    assert among[SAMPLE] == among[OTHER]
    assert not [each for each in alone if "cosine" in each], "alone it is alike to nobody"


def test_how_good_it_sounds_is_a_score_from_1_to_5(judgements: Judgements) -> None:
    assert isinstance(score := judgements.without_language["mos"], float)
    assert 1 < score < 5


def test_weights_that_are_not_there_are_said_and_the_rest_is_judged(without_weights: list[dict[str, object]]) -> None:
    assert any(each["kind"] == "not_judged" and each["what"] == "words" for each in without_weights)
    assert [each["words"] for each in judged(without_weights)] == [None, None]


def test_a_judge_who_is_not_installed_says_how_he_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(_name: str) -> None:
        """Nothing is installed."""

    monkeypatch.setattr(importlib.util, "find_spec", find_none)

    for found in (find_encoder(), find_quality_judge()):
        assert isinstance(found, NotJudged)
        assert INSTALL in found.why
