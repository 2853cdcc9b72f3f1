"""Recordings that wait together are encoded together, and each gets what it would get alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.threads import join_in_time
from worker.engine.errors import RequestRejected
from worker.engine.interface import InContextPrompt, ReferenceAudio, VoicePrompt, XVectorPrompt
from worker.engine.model.config import read_model_config
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.serving.voice_encoder import PreparedVoice, VoiceEncoder
from worker.engine.serving.voice_lane import VoiceLane
from worker.engine.stages.codec import CodecStage
from worker.engine.stages.speaker import SpeakerStage

RATE_HZ = 24_000
WAIT_S = 60


class CountingEncoder(VoiceEncoder):
    """The real encoder, which remembers how many recordings went through each pass."""

    def __init__(self, checkpoint: Path) -> None:
        config = read_model_config(checkpoint / "config.json")
        prompts = PromptBuilder(config, TextTokenizer.load(checkpoint, config.text_control))
        codec = CodecStage.load(checkpoint, "cpu")
        super().__init__(config.task, SpeakerStage.load(checkpoint, "cpu"), codec, prompts)
        self.passes: list[int] = []

    def encode(self, voices: Sequence[PreparedVoice]) -> list[VoicePrompt]:
        self.passes.append(len(voices))
        return super().encode(voices)


@pytest.fixture
def encoder(checkpoints: Mapping[str, Path]) -> CountingEncoder:
    return CountingEncoder(checkpoints["base"])


def recording(seconds: float, pitch_hz: float, ref_text: str | None = None, rate_hz: int = RATE_HZ) -> ReferenceAudio:
    time_s = np.arange(int(seconds * rate_hz)) / rate_hz
    return ReferenceAudio((0.3 * np.sin(2 * np.pi * pitch_hz * time_s)).astype(np.float32), rate_hz, ref_text)


def run_guarded(work: Callable[[], None]) -> None:
    with torch.inference_mode():
        work()


def settle(future: Future[VoicePrompt], outcome: VoicePrompt | RequestRejected) -> None:
    if isinstance(outcome, RequestRejected):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def through(lane: VoiceLane, references: Sequence[ReferenceAudio]) -> list[Future[VoicePrompt]]:
    """All of them wait before the lane begins."""
    futures: list[Future[VoicePrompt]] = [Future() for _ in references]
    for reference, future in zip(references, futures, strict=True):
        lane.put(reference, future)
    lane.start(run_guarded, settle)
    return futures


def assert_same(one: VoicePrompt, other: VoicePrompt) -> None:
    np.testing.assert_allclose(one.speaker_embedding, other.speaker_embedding, atol=1e-5)
    assert type(one) is type(other)
    if isinstance(one, InContextPrompt) and isinstance(other, InContextPrompt):
        np.testing.assert_array_equal(one.ref_code, other.ref_code)
        assert (one.ref_text, one.ref_text_ids) == (other.ref_text, other.ref_text_ids)


def test_what_waits_together_is_encoded_together_as_if_alone(encoder: CountingEncoder) -> None:
    references = [
        recording(1.0, 220, "Hello."),
        recording(2.3, 150),
        recording(0.7, 180, "Good morning.", 16_000),
        recording(1.9, 260, "Hello there, all of you."),
    ]
    alone = [encoder.encode([encoder.prepare(reference)])[0] for reference in references]
    encoder.passes.clear()
    lane = VoiceLane(encoder, max_together_s=10.0)

    prompts = [future.result(WAIT_S) for future in through(lane, references)]

    for prompt, expected in zip(prompts, alone, strict=True):
        assert_same(prompt, expected)
    assert encoder.passes == [4]
    assert isinstance(prompts[1], XVectorPrompt)
    lane.close()
    lane.join()


def test_a_pass_is_bounded_by_its_longest_recording(encoder: CountingEncoder) -> None:
    lane = VoiceLane(encoder, max_together_s=3.0)

    futures = through(lane, [recording(s, 200) for s in (1.0, 1.0, 2.0, 4.0, 0.5, 0.5)])

    for future in futures:
        future.result(WAIT_S)
    assert encoder.passes == [2, 1, 1, 2]
    lane.close()
    lane.join()


def test_one_that_is_refused_holds_up_no_other(encoder: CountingEncoder) -> None:
    lane = VoiceLane(encoder, max_together_s=10.0)
    broken = ReferenceAudio(np.full(RATE_HZ, np.nan, dtype=np.float32), RATE_HZ)

    good, refused, wordless, last = through(
        lane, [recording(1.0, 200), broken, recording(1.0, 200, "  "), recording(1.0, 210)]
    )

    good.result(WAIT_S)
    last.result(WAIT_S)
    with pytest.raises(RequestRejected, match="not finite"):
        refused.result(WAIT_S)
    with pytest.raises(RequestRejected, match="text is empty"):
        wordless.result(WAIT_S)
    lane.close()
    lane.join()


def test_recordings_that_come_later_are_taken(encoder: CountingEncoder) -> None:
    lane = VoiceLane(encoder, max_together_s=0.0)
    lane.start(run_guarded, settle)
    callers = [threading.Thread(target=lane.put, args=(recording(0.6, 200), Future())) for _ in range(3)]
    for caller in callers:
        caller.start()
        join_in_time(caller)
    last: Future[VoicePrompt] = Future()

    lane.put(recording(0.6, 200), last)

    last.result(WAIT_S)
    assert encoder.passes == [1, 1, 1, 1]
    lane.close()
    lane.join()
