"""Talker and codec in engines of their own: together they say what one engine says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from worker.engine.errors import RequestRejected
from worker.engine.interface import BuiltInSpeaker, Engine, FramesRequest, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import EngineRole, NativeEngineSettings
from worker.engine.streaming import SpeechStream

WAIT_S = 60
REQUEST = SpeechRequest("r", "A harbour at night.", BuiltInSpeaker("vivian"), seed=7, max_frames=9)


@pytest.fixture
def start(checkpoints: Mapping[str, Path]) -> Iterator[Callable[[EngineRole], Engine]]:
    started: list[Engine] = []

    def started_in(role: EngineRole) -> Engine:
        settings = NativeEngineSettings(checkpoints["custom_voice"], slots=2, num_threads=1, role=role)
        started.append(NativeEngine(settings))
        return started[-1]

    yield started_in
    for engine in started:
        engine.close()


def test_a_talker_and_a_codec_say_what_one_engine_says(start: Callable[[EngineRole], Engine]) -> None:
    whole = start(EngineRole.WHOLE).submit(REQUEST).result(WAIT_S)

    spoken = start(EngineRole.TALKER).submit(REQUEST).result(WAIT_S)
    heard = start(EngineRole.CODEC).submit(FramesRequest("r", spoken.frames)).result(WAIT_S)

    assert spoken.pcm.size == 0
    np.testing.assert_array_equal(spoken.frames, whole.frames)
    np.testing.assert_array_equal(heard.pcm, whole.pcm)
    np.testing.assert_array_equal(heard.frames, whole.frames)


def test_a_codec_lets_its_samples_be_heard_and_a_talker_has_none(start: Callable[[EngineRole], Engine]) -> None:
    frames = np.random.default_rng(1).integers(0, 64, size=(21, 16), dtype=np.int16)
    codec = start(EngineRole.CODEC)

    chunks = list(SpeechStream(codec, FramesRequest("f", frames)))

    assert len(chunks) > 2
    np.testing.assert_array_equal(
        np.concatenate(chunks), codec.submit(FramesRequest("again", frames)).result(WAIT_S).pcm
    )
    with pytest.raises(RequestRejected, match="nothing to hear"):
        list(SpeechStream(start(EngineRole.TALKER), REQUEST))


def test_a_codec_behind_a_process_takes_frames_and_a_reference(checkpoints: Mapping[str, Path]) -> None:
    frames = np.random.default_rng(1).integers(0, 64, size=(5, 16), dtype=np.int16)
    settings = NativeEngineSettings(checkpoints["custom_voice"], slots=2, num_threads=1, role=EngineRole.CODEC)
    process = EngineProcess(settings)
    process.start()

    whole = process.submit(FramesRequest("whole", frames)).result(WAIT_S)
    rest = process.submit(FramesRequest("rest", frames[2:], reference=frames[:2])).result(WAIT_S)
    process.close()

    assert whole.pcm.shape == (5 * 1920,)
    np.testing.assert_allclose(rest.pcm, whole.pcm[2 * 1920 :], atol=1e-5)


def test_each_role_says_what_it_does_not_do(start: Callable[[EngineRole], Engine]) -> None:
    frames = np.zeros((2, 16), dtype=np.int16)

    with pytest.raises(RequestRejected, match="only decodes"):
        start(EngineRole.CODEC).submit(REQUEST).result(WAIT_S)
    with pytest.raises(RequestRejected, match="codec's role"):
        start(EngineRole.WHOLE).submit(FramesRequest("f", frames)).result(WAIT_S)


@pytest.mark.parametrize(
    "frames", [np.zeros((2, 15), dtype=np.int16), np.full((2, 16), 64, dtype=np.int16)], ids=["narrow", "no such code"]
)
def test_frames_of_another_codec_are_rejected(start: Callable[[EngineRole], Engine], frames: np.ndarray) -> None:
    with pytest.raises(RequestRejected, match="frames"):
        start(EngineRole.CODEC).submit(FramesRequest("f", frames)).result(WAIT_S)
