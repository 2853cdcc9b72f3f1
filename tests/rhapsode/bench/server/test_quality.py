"""What is kept of a server's speech, and what is told of it."""

from __future__ import annotations

import sys
import wave
from pathlib import Path

import pytest

from rhapsode.bench.server.load.messages import ClosedLoad
from rhapsode.bench.server.orders import Language, Level, Speaking
from rhapsode.bench.server.plan import Plan
from rhapsode.bench.server.quality import JudgeLost, Quality, Sample, measure_quality
from rhapsode.bench.server.text_quality import quality_rows, quality_verdicts
from rhapsode.bench.server.texts.bank import TextChoice
from tests.rhapsode.bench.server.speech_servers import RATE_HZ, SILENCE, TONE, Manner, speech_server
from worker.speech.judging.messages import Judged


def plan(url: str) -> Plan:
    texts = TextChoice(levels=(Level.SHORT, Level.MEDIUM))
    return Plan("nari", Speaking(url), texts, (ClosedLoad(1),), 0.0, 1.0, 20.0, 60.0, 1)


def test_each_text_is_spoken_twice_kept_once_and_judged(tmp_path: Path) -> None:
    manner = Manner()
    with speech_server("nari", manner) as url:
        found = measure_quality(plan(url), 2, tmp_path, lambda _: None)

    said = [str(body["input"]) for body in manner.heard]
    assert [each.text for each in found.samples] == [said[0], said[2]]
    assert said[0::2] == said[1::2]
    assert [each.is_same_again for each in found.samples] == [True, True]
    assert all(each.judged is not None and each.judged.longest_pause_s == 0 for each in found.samples)
    with wave.open(str(tmp_path / "001.wav")) as kept:
        assert kept.getframerate() == RATE_HZ
        assert kept.readframes(kept.getnframes()) == SILENCE + TONE * manner.pieces


def test_a_text_that_is_not_spoken_is_told_and_the_others_are_judged(tmp_path: Path) -> None:
    with speech_server("nari", Manner(fails_after=3)) as url:
        found = measure_quality(plan(url), 3, tmp_path, lambda _: None)

    assert [(each.is_same_again, each.judged is not None, each.error is not None) for each in found.samples] == [
        (True, True, False),
        (None, True, True),
        (None, False, True),
    ]


def test_a_judge_that_ends_early_is_said(tmp_path: Path) -> None:
    with speech_server("nari", Manner()) as url, pytest.raises(JudgeLost, match="status 3"):
        measure_quality(plan(url), 1, tmp_path, lambda _: None, (sys.executable, "-c", "raise SystemExit(3)"))


def sample(level: Level, words: int, errors: int, error: str | None = None) -> Sample:
    judged = Judged("x.wav", "heard", words, errors, words / 2.5, -20.0 - words, 0.0, 0.1, 0.1, 0.4, 2.5)
    return Sample("text", level, Language.ENGLISH, None if error else True, judged, error)


def test_words_are_added_up_before_they_are_divided() -> None:
    found = Quality((sample(Level.SHORT, 5, 1), sample(Level.LONG, 95, 4), sample(Level.LONG, 100, 5, "503 full")))

    assert found.word_error_rate == 0.05
    rows = quality_rows(found)
    assert [row[0] for row in rows] == ["heard", "short", "long", "all"]
    assert rows[-1] == ["all", "3", "200", "5.0 %", "2.50", "-120.0 to -25.0", "0", "0.40", "2 of 2"]
    assert "FAILED  quality: 1 × 503 full" in list(quality_verdicts(found))


def test_without_a_recogniser_the_rest_is_told() -> None:
    found = Quality((), "no recogniser is installed")

    assert found.word_error_rate is None
    assert "Words were not counted: no recogniser is installed" in list(quality_verdicts(found))
