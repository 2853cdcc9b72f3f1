"""What the native engine adds to the contract of all engines: checkpoints, clones and failures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.worker.engine.speech_stream import SpeechStream
from worker.engine.errors import CheckpointError, EngineDied, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    InContextPrompt,
    ModelTask,
    ReferenceAudio,
    SpeechChunk,
    SpeechRequest,
    TextMode,
    XVectorPrompt,
)
from worker.engine.native import NativeEngine
from worker.engine.serving.talker_lane import LaneStep
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.codec import CodecStage

WAIT_S = 60
RATE_HZ = 24_000


@pytest.fixture
def start() -> Iterator[Callable[[Path], NativeEngine]]:
    started: list[NativeEngine] = []

    def start_engine(checkpoint: Path) -> NativeEngine:
        started.append(NativeEngine(NativeEngineSettings(checkpoint, slots=3, num_threads=1)))
        return started[-1]

    yield start_engine
    for engine in started:
        engine.close()


@pytest.fixture
def copied(checkpoints: Mapping[str, Path], tmp_path: Path) -> Path:
    """A custom_voice checkpoint that a test may spoil."""
    return Path(shutil.copytree(checkpoints["custom_voice"], tmp_path / "spoiled"))


def recording(seconds: float = 0.6, ref_text: str | None = None) -> ReferenceAudio:
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return ReferenceAudio((0.3 * np.sin(2 * np.pi * 220 * time_s)).astype(np.float32), RATE_HZ, ref_text)


def speak(request_id: str, conditioning: Any, text: str = "Hello there.") -> SpeechRequest:
    return SpeechRequest(request_id, text, conditioning, max_frames=8)


def test_a_recording_with_its_text_becomes_an_in_context_prompt_that_speaks(start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["base"])

    prompt = engine.encode_voice(recording(ref_text="Hello.")).result(WAIT_S)
    speech = engine.submit(speak("one", prompt)).result(WAIT_S)

    assert isinstance(prompt, InContextPrompt)
    assert prompt.ref_code.shape == (8, 16)
    assert speech.pcm.shape == (len(speech.frames) * engine.info.samples_per_frame,)
    codec = CodecStage.load(checkpoints["base"], "cpu")
    whole = codec.decode(np.concatenate((prompt.ref_code, speech.frames)))
    np.testing.assert_allclose(speech.pcm, whole[-len(speech.pcm) :], atol=1e-5)
    streamed = SpeechStream(engine, speak("two", prompt))
    np.testing.assert_array_equal(np.concatenate(list(streamed)), speech.pcm)


def test_a_recording_alone_becomes_an_x_vector_prompt_that_speaks(start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["base"])

    prompt = engine.encode_voice(recording()).result(WAIT_S)
    speech = engine.submit(replace(speak("one", prompt), text_mode=TextMode.PER_FRAME)).result(WAIT_S)

    assert isinstance(prompt, XVectorPrompt)
    assert prompt.speaker_embedding.shape == (engine.info.speaker_dim,)
    assert len(speech.frames) >= 2


@pytest.mark.parametrize(
    "reference",
    [
        ReferenceAudio(np.zeros(0, dtype=np.float32), RATE_HZ),
        ReferenceAudio(np.full(RATE_HZ, np.nan, dtype=np.float32), RATE_HZ),
        recording(ref_text="  "),
    ],
)
def test_a_broken_recording_is_rejected_and_the_engine_lives(reference: Any, start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["base"])

    with pytest.raises(RequestRejected):
        engine.encode_voice(reference).result(WAIT_S)

    assert isinstance(engine.encode_voice(recording()).result(WAIT_S), XVectorPrompt)


def test_a_checkpoint_that_does_not_clone_says_so(start: Any, checkpoints: Any) -> None:
    with pytest.raises(RequestRejected, match="custom_voice checkpoint cannot clone"):
        start(checkpoints["custom_voice"]).encode_voice(recording()).result(WAIT_S)


def test_a_request_whose_numbers_blow_up_fails_alone(start: Any, copied: Path) -> None:
    path = copied / "model.safetensors"
    tensors = load_file(path)
    tilde = json.loads((copied / "vocab.json").read_text(encoding="utf-8"))["~"]
    tensors["talker.model.text_embedding.weight"][tilde] = torch.inf
    save_file(tensors, path)
    engine = start(copied)

    sick = SpeechStream(engine, speak("sick", BuiltInSpeaker("ryan"), "~"))
    healthy = engine.submit(speak("healthy", BuiltInSpeaker("ryan")))

    with pytest.raises(RequestRejected, match="NaN or infinity"):
        list(sick)
    assert len(healthy.result(WAIT_S).frames) >= 2


def test_a_failure_that_was_not_foreseen_fails_everything_and_ends_the_engine(start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])

    def fail(has_news: object) -> None:
        raise ZeroDivisionError("out of the blue")

    engine._parts.talker.step = fail

    futures = [engine.submit(speak(str(n), BuiltInSpeaker("ryan"))) for n in range(4)]

    for future in futures:
        with pytest.raises(EngineDied, match="out of the blue"):
            future.result(WAIT_S)
    with pytest.raises(EngineDied):
        engine.submit(speak("late", BuiltInSpeaker("ryan"))).result(WAIT_S)


def test_a_step_that_was_cut_short_is_no_progress_for_the_watchdog(start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])
    done, calls = engine._parts.talker.step, []

    def cut_short(has_news: Any) -> LaneStep:
        calls.append(engine.stats().steps)
        return LaneStep((), (), (), 0, was_cut_short=True) if len(calls) <= 5 else done(has_news)

    engine._parts.talker.step = cut_short

    engine.submit(speak("held up", BuiltInSpeaker("ryan"))).result(WAIT_S)

    assert calls[:6] == [0] * 6


def test_delivered_audio_is_progress_and_no_step(start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])
    heard: list[SpeechChunk] = []

    engine.submit(speak("one", BuiltInSpeaker("ryan")), heard.append).result(WAIT_S)

    stats = engine.stats()
    assert len(heard) > 1
    num_prompts = 1
    assert (stats.steps, stats.frames, stats.beats) == (num_prompts + 8, 8, len(heard) + 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", -1.0), ("temperature", float("nan")), ("temperature", 1e300), ("top_k", -1), ("top_p", 0.0)],
)
def test_sampling_out_of_range_is_rejected(field: str, value: float, start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])
    request = speak("one", BuiltInSpeaker("ryan"))
    sampling = replace(request.sampling, predictor=replace(request.sampling.predictor, **{field: value}))

    with pytest.raises(RequestRejected, match=f"predictor {field}"):
        engine.submit(replace(request, sampling=sampling)).result(WAIT_S)


@pytest.mark.parametrize("penalty", [0.0, -1.0, 1e300, float("nan")])
def test_a_repetition_penalty_out_of_range_is_rejected(penalty: float, start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])
    request = speak("one", BuiltInSpeaker("ryan"))

    with pytest.raises(RequestRejected, match="repetition_penalty"):
        engine.submit(replace(request, sampling=replace(request.sampling, repetition_penalty=penalty))).result(WAIT_S)


@pytest.mark.parametrize("seed", [-(1 << 63) - 1, 1 << 63])
def test_a_seed_beyond_64_bits_is_rejected(seed: int, start: Any, checkpoints: Any) -> None:
    engine = start(checkpoints["custom_voice"])

    with pytest.raises(RequestRejected, match="seed"):
        engine.submit(replace(speak("one", BuiltInSpeaker("ryan")), seed=seed)).result(WAIT_S)


def test_the_checkpoint_is_described_from_its_files(start: Any, copied: Path) -> None:
    (copied / "NOTICE.txt").write_text("Random weights: noise.\n", encoding="utf-8")

    info = start(copied).info

    assert info.model == "spoiled"
    assert info.task is ModelTask.CUSTOM_VOICE
    assert info.accepts_instructions
    assert "ryan" in info.speakers
    assert "english" in info.languages
    assert not [language for language in info.languages if "dialect" in language]
    assert info.notice == "Random weights: noise."
    assert info.default_sampling.repetition_penalty == 1.05
    assert (info.num_codebooks, info.codebook_size, info.samples_per_frame) == (16, 64, 1920)


def test_the_revision_follows_the_weights(start: Any, copied: Path, checkpoints: Any) -> None:
    before = start(copied).info.revision
    path = copied / "model.safetensors"
    tensors = load_file(path)
    tensors["talker.codec_head.weight"][0, 0] += 1
    save_file(tensors, path)

    after = start(copied).info.revision

    assert before == start(checkpoints["custom_voice"]).info.revision
    assert after != before


def test_talker_and_speech_tokenizer_must_have_the_same_codebooks(
    start: Any, checkpoints: Any, make_checkpoint: Any, tmp_path: Path
) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1.0)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["talker_config"]["num_code_groups"] = 8
    config["talker_config"]["code_predictor_config"]["num_code_groups"] = 8
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(CheckpointError, match="makes 8 codebooks of 64 entries, the speech tokenizer takes 16"):
        start(tmp_path)


def test_a_missing_directory_is_named(start: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no-such-checkpoint"):
        start(tmp_path / "no-such-checkpoint")
