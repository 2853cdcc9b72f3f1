"""The basic gate names what is wrong, and where; good speech passes. The speech is made: syllables of tone."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.speech.quality.defects import SPOILS
from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.calibration.calibration_file import (
    GENERAL_BOUNDS,
    Calibration,
    CalibrationOutdated,
    CalibrationUnreadable,
    MeasuredExample,
    SpeechBounds,
    calibrated_bounds,
    measured_example,
    read_calibration,
    write_calibration,
)
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.expectation import MIN_EXAMPLES, TooFewExamples, fit_duration, text_size
from worker.speech.quality.findings import Defect
from worker.speech.quality.measures import longest_repeat, measure

RATE_HZ = 24_000
FRAME = 1920
WORDS = ["rain", "falls", "softly", "on", "the", "quiet", "garden", "where", "nobody", "walks", "anymore", "today"]


def text_of(num_words: int, seed: int) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, num_words)).capitalize() + "."


def spoken(text: str, seed: int = 0) -> Speech:
    """A tone for every letter, a dip between words, silence at both ends; the length varies by a tenth."""
    rng = np.random.default_rng(seed)
    pieces = [np.zeros(1200)]
    for word in text.split():
        length = int(len(word) * 0.07 * rng.uniform(0.95, 1.05) * RATE_HZ)
        envelope = np.sin(np.linspace(0.15, np.pi - 0.15, length)) ** 0.5
        pieces += [0.3 * envelope * np.sin(np.arange(length) * rng.uniform(0.03, 0.06)), np.zeros(600)]
    pieces.append(np.zeros(1200))
    pcm = np.concatenate(pieces) + rng.normal(0, 1e-5, sum(map(len, pieces)))
    num_frames = len(pcm) // FRAME + 1
    pcm = np.pad(pcm, (0, num_frames * FRAME - len(pcm))).astype(np.float32)
    frames = rng.integers(0, 512, (num_frames, 12), dtype=np.int16)
    return Speech(pcm, frames, RATE_HZ, FinishReason.EOS, engine_s=0.1)


@functools.cache
def good() -> list[tuple[str, Speech]]:
    """Made at the first use: every process of pytest imports this file."""
    examples = [(text_of(2 + seed % 30, seed), seed) for seed in range(60)]
    return [(text, spoken(text, seed)) for text, seed in examples]


@functools.cache
def measured() -> list[MeasuredExample]:
    return [measured_example(text, "tones", speech) for text, speech in good()]


@pytest.fixture(scope="module")
def bounds() -> SpeechBounds:
    return calibrated_bounds(measured())


def defects(speech: Speech, text: str, bounds: SpeechBounds) -> set[Defect]:
    return {finding.defect for finding in basic_findings(speech, text, bounds)}


def test_good_speech_passes(bounds: SpeechBounds) -> None:
    others = [text_of(2 + seed % 30, seed) for seed in range(1000, 1060)]

    assert not [text for text in others if defects(spoken(text, 7), text, bounds)]


@pytest.mark.parametrize("spoil", SPOILS)
def test_every_injected_defect_is_found(spoil: str, bounds: SpeechBounds) -> None:
    rng = np.random.default_rng(3)

    missed = [text for text, speech in good() if not defects(SPOILS[spoil](speech, rng), text, bounds)]

    assert len(missed) <= 0.05 * len(good())


def test_a_pause_is_found_where_it_is(bounds: SpeechBounds) -> None:
    text, speech = good()[20]
    silence = np.zeros(2 * RATE_HZ, np.float32)
    paused = replace(speech, pcm=np.concatenate((speech.pcm[:RATE_HZ], silence, speech.pcm[RATE_HZ:])))

    found = {finding.defect: finding for finding in basic_findings(paused, text, bounds)}

    assert found[Defect.LONG_PAUSE].measured == pytest.approx(2, abs=0.1)
    assert found[Defect.LONG_PAUSE].at_s == pytest.approx(1, abs=0.1)
    assert found[Defect.LONG_PAUSE].bound == bounds.longest_pause_s


def test_the_limit_is_a_defect_whatever_was_said(bounds: SpeechBounds) -> None:
    text, speech = good()[20]

    assert defects(replace(speech, finish_reason=FinishReason.LENGTH), text, bounds) == {Defect.UNFINISHED}


def test_a_stop_at_a_pause_is_told_by_the_frame_it_ends_with(bounds: SpeechBounds) -> None:
    """Nine tenths of the speech and then silence: not short enough by itself, and not cut."""
    text, speech = good()[29]
    kept = round(0.9 * len(speech.frames))
    stopped = replace(speech, pcm=speech.pcm[: kept * FRAME].copy(), frames=speech.frames[:kept])
    stopped.pcm[-2_400:] = 0
    known, unknown = int(stopped.frames[-1, 0]), 600

    def found(final_codes: tuple[int, ...], heard: Speech) -> set[Defect]:
        return defects(heard, text, replace(bounds, final_codes=final_codes))

    assert found((unknown,), stopped) == {Defect.EARLY_END}
    assert found((known,), stopped) == set()
    assert found((), stopped) == set()
    assert found((unknown,), speech) == set()


def test_ends_tell_nothing_where_every_utterance_has_its_own(bounds: SpeechBounds) -> None:
    same = [replace(one, speech=replace(one.speech, final_code=number % 3)) for number, one in enumerate(measured())]

    assert bounds.final_codes == ()
    assert calibrated_bounds(same).final_codes == (0, 1, 2)


def test_a_speaker_has_its_own_pace() -> None:
    quick = [replace(one, speaker="a") for one in measured()]
    slow = [
        replace(one, speaker="b", speech=replace(one.speech, speech_s=1.5 * one.speech.speech_s)) for one in measured()
    ]
    texts = [text for text, _ in good()]
    both = calibrated_bounds([*quick, *slow])

    own = {speaker: both.of_speaker(speaker).duration for speaker in ("a", "b", "stranger")}

    assert own["a"] is not None
    assert own["b"] is not None
    assert own["b"].expected_s(texts[30]) == pytest.approx(1.5 * own["a"].expected_s(texts[30]), rel=0.02)
    assert own["stranger"] == both.duration


def test_silence_is_one_finding(bounds: SpeechBounds) -> None:
    text, speech = good()[20]

    assert defects(replace(speech, pcm=np.zeros_like(speech.pcm)), text, bounds) == {Defect.SILENT}


def test_speech_without_a_sample_is_silence() -> None:
    nothing = Speech(np.zeros(0, np.float32), np.zeros((0, 12), np.int16), RATE_HZ, FinishReason.EOS, 0.0)

    assert defects(nothing, "Some words.", GENERAL_BOUNDS) == {Defect.SILENT}


def test_a_wrong_level_is_found(bounds: SpeechBounds) -> None:
    text, speech = good()[20]

    assert defects(replace(speech, pcm=speech.pcm * np.float32(0.05)), text, bounds) == {Defect.LEVEL}


def test_without_calibration_only_what_no_speech_does_is_found() -> None:
    text, speech = good()[20]

    assert defects(speech, text, GENERAL_BOUNDS) == set()
    assert defects(speech, text * 9, GENERAL_BOUNDS) == set()
    assert defects(replace(speech, finish_reason=FinishReason.LENGTH), text, GENERAL_BOUNDS) == {Defect.UNFINISHED}


def test_repeated_silence_is_no_repeat() -> None:
    frames = np.zeros((10, 4), np.int16)

    assert longest_repeat(frames, np.zeros(10, bool)).frames == 0
    assert longest_repeat(frames, np.ones(10, bool)).frames == 9


@given(st.integers(0, 30), st.integers(1, 20), st.integers(0, 99))
def test_a_repeat_is_found_at_its_place(before: int, length: int, seed: int) -> None:
    codes = np.arange((before + length) * 4, dtype=np.int16).reshape(-1, 4)
    frames = np.concatenate((codes, codes[before:], codes[:1] + 1000 + seed))

    found = longest_repeat(frames, np.ones(len(frames), bool))

    assert (found.frames, found.at) == (length, before + length)


def test_outliers_do_not_widen_the_model() -> None:
    texts = [text for text, _ in good()]
    seconds = [measure(speech).speech_s for _, speech in good()]

    clean = fit_duration(texts, seconds)
    dirty = fit_duration(texts, [9 * s if number % 20 == 7 else s for number, s in enumerate(seconds)])

    assert dirty.expected_s(texts[50]) == pytest.approx(clean.expected_s(texts[50]), rel=0.03)
    assert dirty.longer_share < clean.longer_share + 0.05


def test_few_examples_are_refused() -> None:
    with pytest.raises(TooFewExamples):
        fit_duration(["a"] * (MIN_EXAMPLES - 1), [1.0] * (MIN_EXAMPLES - 1))


def test_a_text_is_as_long_as_it_is_read() -> None:
    assert text_size("Well, I don't know …").marks == 2
    assert text_size("1984").letters == text_size("nineteeneightyfo").letters
    assert text_size("字字").letters == 6


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path, bounds: SpeechBounds) -> None:
    calibration = Calibration("abc", {"english": 60}, {"english": bounds})
    path = tmp_path / "speech_calibration.json"

    write_calibration(calibration, path)
    read = read_calibration(path)

    assert read == calibration
    assert read.bounds("english") == read.bounds("auto") == bounds.of_speaker("")
    assert read.bounds("english", "tones").voice == bounds.voices["tones"]
    assert read.bounds("german") == GENERAL_BOUNDS


def test_a_calibration_of_an_earlier_release_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "speech_calibration.json"
    path.write_text('{"revision": "abc", "examples": {}, "languages": {}}')

    with pytest.raises(CalibrationOutdated, match="has format 1, not 2: run `rhapsode calibrate` again"):
        read_calibration(path)


def test_a_damaged_calibration_says_so(tmp_path: Path) -> None:
    path = tmp_path / "speech_calibration.json"
    path.write_text('{"revision": "abc", "format": 2}')

    with pytest.raises(CalibrationUnreadable, match=r"speech_calibration\.json"):
        read_calibration(path)
