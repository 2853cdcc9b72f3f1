"""What is kept of a server's speech, and what is told of it."""

from __future__ import annotations

import sys
import wave
from pathlib import Path

import pytest

from rhapsode.bench.server.load import ClosedLoad
from rhapsode.bench.server.orders import Language, SpeechTarget, TextChoice, TextLevel
from rhapsode.bench.server.plan import BenchPlan
from rhapsode.bench.server.quality import JudgedQuality, JudgeLost, Sample, measure_quality
from rhapsode.bench.server.text_report import quality_rows, quality_verdicts
from tests.rhapsode.bench.server.speech_servers import RATE_HZ, SILENCE, TONE, Manner, speech_server
from worker.speech.judging.messages import JudgedRecording


def plan(url: str) -> BenchPlan:
    texts = TextChoice(levels=(TextLevel.SHORT, TextLevel.MEDIUM))
    return BenchPlan("nari", SpeechTarget(url), texts, (ClosedLoad(1),), 0.0, 1.0, 20.0, 60.0, 1)


def test_each_text_is_spoken_twice_kept_once_and_judged_and_one_that_is_not_spoken_is_told(tmp_path: Path) -> None:
    manner = Manner(fails_after=3)
    with speech_server("nari", manner) as url:
        found = measure_quality(plan(url), 3, tmp_path, lambda _: None)

    said = [str(body["input"]) for body in manner.heard]
    assert [each.text for each in found.samples[:2]] == [said[0], said[2]]
    assert said[0:4:2] == said[1:4:2]
    assert [(each.is_same_again, each.judged is not None, each.error is not None) for each in found.samples] == [
        (True, True, False),
        (None, True, True),
        (None, False, True),
    ]
    assert all(each.judged is None or each.judged.longest_pause_s == 0 for each in found.samples)
    with wave.open(str(tmp_path / "001.wav")) as kept:
        assert kept.getframerate() == RATE_HZ
        assert kept.readframes(kept.getnframes()) == SILENCE + TONE * manner.pieces


def test_a_judge_that_ends_early_is_said(tmp_path: Path) -> None:
    with speech_server("nari", Manner()) as url, pytest.raises(JudgeLost, match="status 3"):
        measure_quality(plan(url), 1, tmp_path, lambda _: None, command=(sys.executable, "-c", "raise SystemExit(3)"))


def test_a_judge_who_takes_too_long_is_ended_and_what_he_said_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rhapsode.bench.server.quality.LEAST_JUDGING_S", 5.0)
    says = '{"kind": "not_judged", "what": "likeness", "why": "alone"}'
    slow = (sys.executable, "-S", "-c", f"import time; print({says!r}, flush=True); time.sleep(600)")
    with speech_server("nari", Manner()) as url:
        found = measure_quality(plan(url), 1, tmp_path, lambda _: None, 1.0, slow)

    assert found.not_judged == ("likeness: alone", "some recordings: the time was over")
    assert [each.judged for each in found.samples] == [None]


def test_texts_that_there_is_no_time_for_are_told(tmp_path: Path) -> None:
    found = measure_quality(plan("http://127.0.0.1:9"), 4, tmp_path, lambda _: None, -1.0)

    assert (found.samples, found.not_judged) == ((), ("4 texts: the time was over",))


def sample(level: TextLevel, words: int, errors: int, error: str | None = None) -> Sample:
    judged = JudgedRecording(
        path="x.wav",
        heard="heard",
        words=words,
        errors=errors,
        speech_s=words / 2.5,
        loudness_db=-20.0 - words,
        clipped_share=0.0,
        leading_s=0.1,
        trailing_s=0.1,
        longest_pause_s=0.4,
        words_per_s=2.5,
        characters=5 * words,
        character_errors=4 * errors,
        is_looped=words == 100,
        is_cut=False,
        mos=3.0,
    )
    return Sample("text", level, Language.ENGLISH, None if error else True, judged, error, 0.8)


def test_words_are_added_up_before_they_are_divided() -> None:
    found = JudgedQuality(
        (sample(TextLevel.SHORT, 5, 1), sample(TextLevel.LONG, 95, 4), sample(TextLevel.LONG, 100, 5, "503 full"))
    )

    rows = quality_rows(found)
    assert [row[0] for row in rows] == ["heard", "short", "long", "all"]
    told = dict(zip(rows[0], rows[-1], strict=True))
    assert (told["texts"], told["words"], told["wrong"], told["letters wrong"]) == ("3", "200", "5.0 %", "4.0 %")
    assert (told["loops"], told["cut short"], told["likeness"], told["distillMOS"]) == ("1", "0", "0.80", "3.00")
    assert (told["words/s"], told["the same again"]) == ("2.50", "2 of 2")
    assert "FAILED  quality: 1 × 503 full" in list(quality_verdicts(found))


def test_without_a_recogniser_the_rest_is_told() -> None:
    found = JudgedQuality((), ("words: no recogniser is installed",))

    assert "Not judged: words: no recogniser is installed" in list(quality_verdicts(found))
