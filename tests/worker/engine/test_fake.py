"""The fake engine keeps the engine's contract and says what `fake_speech` says."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from worker.engine.build import build_engine
from worker.engine.errors import EngineDied, RequestCancelled, RequestRejected
from worker.engine.fake import (
    HANG_MARKER,
    POISON_EXIT_STATUS,
    POISON_MARKER,
    FakeEngine,
    fake_speech,
    fake_streamed_speech,
)
from worker.engine.interface import (
    BuiltInSpeaker,
    FinishReason,
    InContextPrompt,
    ReferenceAudio,
    SpeechChunk,
    SpeechRequest,
    TextMode,
    XVectorPrompt,
)
from worker.engine.settings import FakeEngineSettings


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    engine = FakeEngine(FakeEngineSettings(slots=2, step_s=0.001))
    yield engine
    engine.close()


def _request(
    request_id: str,
    text: str = "A sentence.",
    *,
    language: str = "auto",
    seed: int = 0,
    max_frames: int | None = None,
) -> SpeechRequest:
    return SpeechRequest(request_id, text, BuiltInSpeaker("ada"), language=language, seed=seed, max_frames=max_frames)


def test_speech_of_a_text_never_changes() -> None:
    pcm, frames = fake_speech("Hello there.", seed=7)

    assert pcm.dtype == np.float32
    assert frames.dtype == np.int16
    assert frames.shape == (10, 16)
    assert pcm.shape == (10 * 1920,)
    # Recorded: expected bytes of whole-system tests rest on these.
    assert hashlib.sha256(frames.tobytes()).hexdigest()[:16] == "f11271e679dec0ed"
    assert hashlib.sha256(pcm.tobytes()).hexdigest()[:16] == "5be05d53265bb9b9"


def test_speech_differs_by_text_and_by_seed() -> None:
    said = {fake_speech(text, seed)[0].tobytes() for text in ("One.", "Two.") for seed in (0, 1)}

    assert len(said) == 4


def test_samples_stay_in_range_and_begin_and_end_in_silence() -> None:
    pcm, frames = fake_speech("Some words to say.", seed=0)

    assert np.abs(pcm).max() <= 0.25
    assert np.abs(pcm).max() > 0.2
    assert not pcm[:1920].any()
    assert not pcm[-1920:].any()
    assert 0 <= frames.min() <= frames.max() < 2048


def test_a_request_becomes_exactly_the_speech_of_its_text(engine: FakeEngine) -> None:
    speech = engine.submit(_request("a", "Good morning.", seed=5)).result(60)

    pcm, frames = fake_speech("Good morning.", 5)
    assert np.array_equal(speech.pcm, pcm)
    assert np.array_equal(speech.frames, frames)
    assert speech.finish_reason is FinishReason.EOS


def test_more_requests_than_slots_all_finish(engine: FakeEngine) -> None:
    futures = [engine.submit(_request(f"r{i}", f"Number {i}.")) for i in range(20)]

    said = [future.result(60).pcm.tobytes() for future in futures]

    assert said == [fake_speech(f"Number {i}.", 0)[0].tobytes() for i in range(20)]
    assert engine.stats().finished == 20
    assert engine.stats().active == engine.stats().waiting == 0


def test_max_frames_cuts_the_speech(engine: FakeEngine) -> None:
    speech = engine.submit(_request("a", "A rather long sentence for three frames.", max_frames=3)).result(60)

    assert speech.frames.shape == (3, 16)
    assert speech.pcm.shape == (3 * 1920,)
    assert speech.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(
    "request_",
    [
        _request("a", "  "),
        _request("a", "x" * 5000),
        _request("a", language="klingon"),
        _request("a", max_frames=0),
        SpeechRequest("a", "Hello.", BuiltInSpeaker("nobody")),
    ],
    ids=["no text", "too long", "language", "max_frames", "speaker"],
)
def test_what_can_never_work_is_rejected(engine: FakeEngine, request_: SpeechRequest) -> None:
    with pytest.raises(RequestRejected):
        engine.submit(request_).result(60)


def test_an_id_in_flight_cannot_be_used_twice(engine: FakeEngine) -> None:
    engine.submit(_request("same", "x" * 1000))

    with pytest.raises(RequestRejected, match="already in flight"):
        engine.submit(_request("same")).result(60)


def test_cancel_frees_the_slot_and_fails_the_future(engine: FakeEngine) -> None:
    long = [engine.submit(_request(f"long{i}", "x" * 4000)) for i in range(3)]

    for i in range(3):
        engine.cancel(f"long{i}")
    engine.cancel("nobody")

    for future in long:
        with pytest.raises(RequestCancelled):
            future.result(60)
    assert engine.submit(_request("next")).result(60).frames.size


def test_steps_grow_while_a_request_is_active(engine: FakeEngine) -> None:
    engine.submit(_request("a", "x" * 4000))

    before = engine.stats().steps
    while engine.stats().steps == before:
        time.sleep(0.005)

    assert engine.stats().active == 1


def test_close_fails_what_is_in_flight_and_what_comes_later() -> None:
    engine = FakeEngine(FakeEngineSettings(slots=1, step_s=0.001))
    inside, waiting = engine.submit(_request("a", "x" * 4000)), engine.submit(_request("b"))

    engine.close()
    engine.close()

    for future in (inside, waiting, engine.submit(_request("c"))):
        with pytest.raises(EngineDied):
            future.result(60)


def test_voice_prompts_are_a_function_of_the_recording(engine: FakeEngine) -> None:
    pcm = np.linspace(-1, 1, 500, dtype=np.float32)

    prompt = engine.encode_voice(ReferenceAudio(pcm, 24_000, "What it says.")).result(60)
    bare = engine.encode_voice(ReferenceAudio(pcm, 24_000)).result(60)

    assert isinstance(prompt, InContextPrompt)
    assert isinstance(bare, XVectorPrompt)
    assert np.array_equal(prompt.speaker_embedding, bare.speaker_embedding)
    with pytest.raises(RequestRejected):
        engine.encode_voice(ReferenceAudio(pcm[:0], 24_000)).result(60)


def test_a_hung_loop_still_answers_stats_and_makes_no_steps() -> None:
    engine = FakeEngine(FakeEngineSettings(slots=2, step_s=0.001))
    engine.submit(_request("a", HANG_MARKER))
    while not engine.stats().active:
        time.sleep(0.005)

    before = engine.stats()
    time.sleep(0.1)

    assert before.active == 1
    assert engine.stats() == before


def test_poison_ends_the_process() -> None:
    program = (
        "from worker.engine.fake import *\n"
        "from worker.engine.interface import *\n"
        f"engine = FakeEngine(FakeEngineSettings())\n"
        f"engine.submit(SpeechRequest('a', {POISON_MARKER!r}, BuiltInSpeaker('ada'))).result(20)\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)

    assert ended.returncode == POISON_EXIT_STATUS


def test_the_fake_is_built_without_torch() -> None:
    program = (
        "import sys\n"
        "from worker.engine.build import build_engine\n"
        "from worker.engine.settings import FakeEngineSettings\n"
        "build_engine(FakeEngineSettings()).close()\n"
        "sys.exit('torch' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=120, check=False).returncode == 0
    assert isinstance(build_engine(FakeEngineSettings()), FakeEngine)


@pytest.fixture
def threads_take_turns() -> Iterator[None]:
    """Ten thousand times as often as usual."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(usual_s / 10_000)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.usefixtures("threads_take_turns")
def test_a_text_that_grows_while_it_is_spoken_is_said_as_the_whole_of_it() -> None:
    """The writer's thread and the loop's meet at every character."""
    engine = FakeEngine(FakeEngineSettings(step_s=0.0))
    text = "Whatever is written while it is spoken. " * 5
    expected, _ = fake_streamed_speech(text, 7)
    for number in range(20):
        request = SpeechRequest(
            f"r{number}", "", BuiltInSpeaker("ada"), seed=7, text_mode=TextMode.PER_FRAME, text_is_open=True
        )
        heard: list[SpeechChunk] = []
        future = engine.submit(request, heard.append)
        for place, letter in enumerate(text):
            engine.extend(f"r{number}", letter, is_last=place == len(text) - 1)

        future.result(60)
        np.testing.assert_array_equal(np.concatenate([chunk.pcm for chunk in heard]), expected)
    engine.close()
