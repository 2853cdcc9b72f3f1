"""What ends a stream while it is spoken: loops, silence, speech without an end; and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from worker.engine.fake import SAMPLES_PER_FRAME, fake_speech
from worker.engine.interface import CodecFrames, Pcm, SpeechChunk
from worker.live.gate import LiveGate
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.speech.quality.findings import Defect, SpeechFinding

FRAME_S = 0.08
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
