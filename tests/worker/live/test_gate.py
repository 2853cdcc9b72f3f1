"""What ends a stream while it is spoken: loops, silence, speech without an end; and what does not."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.engine.fake import SAMPLES_PER_FRAME, fake_speech
from worker.engine.interface import CodecFrames, Pcm, SpeechChunk
from worker.live.gate import UNKNOWN_VOICE_SHARE, LiveGate
from worker.speech.quality.calibration.calibration_file import GENERAL_BOUNDS, UNCALIBRATED
from worker.speech.quality.expectation import DurationModel
from worker.speech.quality.findings import Defect, SpeechFinding

FRAME_S = 0.08
SHORT_BOUNDS = replace(GENERAL_BOUNDS, duration=DurationModel(0.3, 0.0, 0.0, 0.0, 0.1, 0.1))
LONGEST_S = 0.63
TEXT = "This is a sentence of some words, which takes a while to say. " * 4


def found(pcm: Pcm, frames: CodecFrames, text: str = TEXT, size: int = 4) -> SpeechFinding | None:
    gate = LiveGate(UNCALIBRATED.bounds("english", "ada"), FRAME_S)
    for at in range(0, len(frames), size):
        part = SpeechChunk(pcm[at * SAMPLES_PER_FRAME : (at + size) * SAMPLES_PER_FRAME], frames[at : at + size])
        finding = gate.take(part, text)
        if finding is not None:
            return finding
    return gate.end()


def test_speech_passes() -> None:
    assert found(*fake_speech(TEXT, 1)) is None


@pytest.mark.parametrize("size", [1, 3, 16])
@pytest.mark.parametrize("period", [1, 2, 7, 40])
def test_a_loop_is_noticed(period: int, size: int) -> None:
    pcm, frames = fake_speech(TEXT, 1)
    looped = np.concatenate((frames[:20], *[frames[20 : 20 + period]] * (200 // period)))[: len(frames)]

    finding = found(pcm, looped, size=size)

    assert finding is not None
    assert finding.defect is Defect.REPEATED_FRAMES


def test_frames_without_codes_are_no_loop() -> None:
    pcm, frames = fake_speech(TEXT, 1)

    assert found(pcm, frames[:, :0]) is None


def test_silence_that_does_not_end_is_noticed() -> None:
    pcm, frames = fake_speech(TEXT, 1)
    pcm[20 * SAMPLES_PER_FRAME :] = 0

    finding = found(pcm, frames)

    assert finding is not None
    assert finding.defect is Defect.LONG_PAUSE
    assert found(np.zeros_like(pcm), frames) is not None


def test_equal_frames_of_silence_are_no_loop() -> None:
    pcm, frames = fake_speech(TEXT, 1)
    pcm[20 * SAMPLES_PER_FRAME : 60 * SAMPLES_PER_FRAME] = 0
    frames[20:60] = frames[20]

    assert found(pcm, frames) is None


def test_speech_that_does_not_end_is_noticed() -> None:
    finding = found(*fake_speech(TEXT, 1), text="Yes.")

    assert finding is not None
    assert finding.defect is Defect.TOO_LONG


def test_samples_that_are_no_numbers_are_noticed() -> None:
    pcm, frames = fake_speech(TEXT, 1)
    pcm[30_000] = np.nan

    finding = found(pcm, frames)

    assert finding is not None
    assert finding.defect is Defect.NOT_FINITE


def test_a_segment_in_which_nothing_was_heard_is_silent() -> None:
    pcm, frames = fake_speech("Hi.", 1)

    finding = found(np.zeros_like(pcm), frames, text="Hi.")

    assert finding is not None
    assert finding.defect is Defect.SILENT


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_a_word_is_cut_at_the_same_sample_whatever_the_chunks(sizes: list[int]) -> None:
    pcm, frames = fake_speech(TEXT, 1)

    def heard(sizes: Iterable[int]) -> Pcm:
        gate, at, parts = LiveGate(SHORT_BOUNDS, FRAME_S), 0, list[Pcm]()
        for size in sizes:
            part = SpeechChunk(pcm[at * SAMPLES_PER_FRAME : (at + size) * SAMPLES_PER_FRAME], frames[at : at + size])
            over = gate.cut(part, "Yes.", is_measured=True)
            parts.append((over or part).pcm)
            if over is not None:
                assert len(over.frames) * SAMPLES_PER_FRAME >= len(over.pcm)
                return np.concatenate(parts)
            at += size
        raise AssertionError("it was never cut")

    np.testing.assert_array_equal(heard(itertools.chain(sizes, itertools.repeat(4))), heard(itertools.repeat(4)))


def test_a_text_that_is_being_written_is_not_cut_and_an_unknown_voice_has_longer() -> None:
    pcm, frames = fake_speech(TEXT, 1)
    chunk = SpeechChunk(pcm, frames)

    def cut_s(text: str | None, *, is_measured: bool) -> float | None:
        over = LiveGate(SHORT_BOUNDS, FRAME_S).cut(chunk, text, is_measured=is_measured)
        return None if over is None else len(over.pcm) / SAMPLES_PER_FRAME * FRAME_S

    assert cut_s(None, is_measured=True) is None
    # The first frame is silent, and a fade of 5 ms ends it.
    assert cut_s("Yes.", is_measured=True) == pytest.approx(FRAME_S + LONGEST_S + 0.005, abs=0.01)
    assert cut_s("Yes.", is_measured=False) == pytest.approx(
        FRAME_S + UNKNOWN_VOICE_SHARE * LONGEST_S + 0.005, abs=0.01
    )


@pytest.mark.parametrize("num_frames", [1, 3, 35])
def test_a_chunk_may_end_within_a_window(num_frames: int) -> None:
    """A frame of Kokoro is two and a half windows long."""
    pcm, frames = np.full(num_frames * 600, 0.1, np.float32), np.zeros((num_frames, 0), np.int16)
    gate = LiveGate(SHORT_BOUNDS, 600 / 24_000)

    over = gate.cut(SpeechChunk(pcm, frames), TEXT, is_measured=True)

    assert (over is None) == (num_frames < 35)
