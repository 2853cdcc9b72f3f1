"""What every engine promises behind its futures: the fake one, and the others on a tiny checkpoint.

The vLLM engine takes part where vLLM is installed, which is an environment of its own: `make vllm-test`.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker.engine.build import build_engine
from worker.engine.errors import EngineDied, RequestCancelled, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    Engine,
    FinishReason,
    Speech,
    SpeechChunk,
    SpeechRequest,
    TextMode,
    Urgency,
)
from worker.engine.serving.streaming import SpeechStream
from worker.engine.settings import EngineSettings, FakeEngineSettings, NativeEngineSettings, VllmEngineSettings
from worker.engine.vllm.supported_versions import installed

WAIT_S = 60
SLOTS = 3
ENDLESS = "and so on and so forth, " * 11


@dataclass(frozen=True)
class Case:
    """How one kind of engine is built."""

    settings: EngineSettings

    def build(self, slots: int = SLOTS) -> Engine:
        return build_engine(replace(self.settings, slots=slots))


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights that never draw the end of speech: a request speaks until its `max_frames`."""
    path = Path(__file__).parents[2] / "parity" / "make_checkpoint.py"
    spec = importlib.util.spec_from_file_location("contract_make_checkpoint", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    checkpoint = tmp_path_factory.mktemp("contract") / "tiny"
    module.make_checkpoint(checkpoint, "tiny", "custom_voice", 5, 0.0)
    return checkpoint


without_vllm = pytest.mark.skipif(installed() is None, reason="vLLM is not installed here: make vllm-test")


@pytest.fixture(params=["fake", "native", pytest.param("vllm", marks=without_vllm)])
def case(request: pytest.FixtureRequest, tiny_checkpoint: Path) -> Case:
    if request.param == "fake":
        return Case(FakeEngineSettings())
    if request.param == "vllm":
        return Case(VllmEngineSettings(tiny_checkpoint, num_threads=1))
    return Case(NativeEngineSettings(tiny_checkpoint, num_threads=1))


@pytest.fixture
def engine(case: Case) -> Iterator[Engine]:
    engine = case.build()
    yield engine
    engine.close()


def request_for(engine: Engine, request_id: str = "one", text: str = "Hello there.", frames: int = 6) -> SpeechRequest:
    speaker = BuiltInSpeaker(engine.info.speakers[0])
    return SpeechRequest(request_id, text, speaker, sampling=engine.info.default_sampling, max_frames=frames)


def endless(engine: Engine, request_id: str) -> SpeechRequest:
    return request_for(engine, request_id, ENDLESS, 1000)


def result(future: Future[Speech]) -> Speech:
    return future.result(timeout=WAIT_S)


def wait_until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline_s, "it did not come true"
        time.sleep(0.002)


def assert_same(one: Speech, other: Speech) -> None:
    np.testing.assert_array_equal(one.frames, other.frames)
    np.testing.assert_array_equal(one.pcm, other.pcm)


def test_a_request_becomes_speech_of_the_announced_format(engine: Engine) -> None:
    speech = result(engine.submit(request_for(engine, frames=6)))

    info = engine.info
    assert speech.frames.shape == (6, info.num_codebooks)
    assert speech.frames.dtype == np.int16
    assert 0 <= speech.frames.min() <= speech.frames.max() < info.codebook_size
    assert speech.pcm.shape == (6 * info.samples_per_frame,)
    assert speech.pcm.dtype == np.float32
    assert np.abs(speech.pcm).max() <= 1
    assert speech.sample_rate_hz == info.sample_rate_hz
    assert speech.finish_reason is FinishReason.LENGTH
    assert speech.engine_s > 0


def test_the_same_request_says_the_same_twice(engine: Engine) -> None:
    first = result(engine.submit(request_for(engine)))

    second = result(engine.submit(request_for(engine)))

    assert_same(first, second)


def test_requests_of_many_threads_each_get_what_they_would_get_alone(case: Case, engine: Engine) -> None:
    requests = [
        replace(request_for(engine, str(n), "Hello there, all of you."[: 8 + n], 2 + n % 7), seed=n) for n in range(24)
    ]
    alone = case.build(slots=1)
    expected = [result(alone.submit(request)) for request in requests]
    alone.close()

    def speak(request: SpeechRequest) -> Speech:
        return result(engine.submit(request))

    with ThreadPoolExecutor(8) as threads:
        spoken = list(threads.map(speak, requests))

    for one, other in zip(spoken, expected, strict=True):
        assert_same(one, other)
    assert engine.stats().finished == len(requests)


def test_samples_are_heard_while_they_are_made_and_are_those_of_the_speech(engine: Engine) -> None:
    request = request_for(engine, frames=37)
    expected = result(engine.submit(request))
    heard: list[SpeechChunk] = []
    ended_at: list[int] = []

    future = engine.submit(request, heard.append)
    future.add_done_callback(lambda _: ended_at.append(len(heard)))
    speech = result(future)

    assert_same(speech, expected)
    np.testing.assert_array_equal(np.concatenate([chunk.pcm for chunk in heard]), expected.pcm)
    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in heard]), expected.frames)
    frames = [len(chunk.pcm) // engine.info.samples_per_frame for chunk in heard]
    assert frames == [len(chunk.frames) for chunk in heard]
    assert frames[0] <= 4
    assert len(frames) > 3
    assert frames[:-1] == sorted(frames[:-1]), "chunks grow"
    # A future lets go those who wait for it before it calls its callbacks.
    wait_until(lambda: bool(ended_at))
    assert ended_at == [len(heard)], "all chunks come before the end"


def test_a_stream_begins_before_the_speech_ends(engine: Engine) -> None:
    stream = SpeechStream(engine, endless(engine, "endless"))

    chunks = iter(stream)
    first, second = next(chunks), next(chunks)

    assert not stream.speech.done()
    assert 0 < len(first) <= len(second)
    engine.cancel("endless")
    with pytest.raises(RequestCancelled):
        list(chunks)
    with pytest.raises(RequestCancelled):
        list(stream)


def test_streams_and_whole_utterances_side_by_side_are_those_that_they_are_alone(case: Case, engine: Engine) -> None:
    requests = [replace(request_for(engine, str(n), frames=4 + 5 * n), seed=n) for n in range(6)]
    alone = case.build(slots=1)
    expected = [result(alone.submit(request)) for request in requests]
    alone.close()

    streams = [SpeechStream(engine, request) for request in requests[::2]]
    futures = [engine.submit(request) for request in requests[1::2]]

    for stream, speech in zip(streams, expected[::2], strict=True):
        np.testing.assert_array_equal(np.concatenate(list(stream)), speech.pcm)
        assert_same(result(stream.speech), speech)
    for future, speech in zip(futures, expected[1::2], strict=True):
        assert_same(result(future), speech)


def test_a_stream_of_a_request_that_is_rejected_ends_at_once(engine: Engine) -> None:
    with pytest.raises(RequestRejected):
        list(SpeechStream(engine, request_for(engine, text=" ")))


def test_a_stream_ends_with_its_engine(case: Case) -> None:
    engine = case.build(slots=1)
    chunks = iter(SpeechStream(engine, endless(engine, "endless")))
    next(chunks)

    engine.close()

    with pytest.raises(EngineDied):
        list(chunks)


def test_somebody_who_waits_goes_before_what_can_wait(case: Case) -> None:
    engine = case.build(slots=1)
    order: list[str] = []

    def submit(request: SpeechRequest) -> Future[Speech]:
        future = engine.submit(request)
        future.add_done_callback(lambda done: order.append(request.request_id) if not done.exception() else None)
        return future

    submit(endless(engine, "running"))
    wait_until(lambda: engine.stats().active == 1)
    bulk = [submit(request_for(engine, f"bulk {n}", frames=3)) for n in range(4)]
    waits = submit(replace(request_for(engine, "interactive", frames=3), urgency=Urgency.INTERACTIVE))

    engine.cancel("running")

    for future in (*bulk, waits):
        result(future)
    wait_until(lambda: len(order) == 5)
    assert order[0] == "interactive"
    assert sorted(order[1:]) == [f"bulk {n}" for n in range(4)]
    engine.close()


def test_the_native_engine_on_a_cpu_keeps_room_for_somebody_who_waits(tiny_checkpoint: Path) -> None:
    engine = Case(NativeEngineSettings(tiny_checkpoint, num_threads=1)).build(slots=1)
    bulk = [engine.submit(endless(engine, name)) for name in ("running", "waiting")]
    wait_until(lambda: engine.stats().active == 1)

    result(engine.submit(replace(request_for(engine, "interactive"), urgency=Urgency.INTERACTIVE)))

    assert not any(future.done() for future in bulk)
    assert (engine.stats().active, engine.stats().waiting) == (1, 1)
    engine.close()


def test_a_request_joins_while_others_speak(engine: Engine) -> None:
    long = engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().frames > 0)

    result(engine.submit(request_for(engine, "short")))

    assert not long.done()


def test_cancelling_frees_the_slot(case: Case) -> None:
    engine = case.build(slots=1)
    long = engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().active == 1)
    waiting = engine.submit(request_for(engine, "short"))

    engine.cancel("long")

    with pytest.raises(RequestCancelled):
        result(long)
    result(waiting)
    assert (engine.stats().active, engine.stats().waiting) == (0, 0)
    engine.close()


def test_a_cancelled_request_never_runs_if_it_was_waiting(case: Case) -> None:
    engine = case.build(slots=1)
    engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().active == 1)
    waiting = engine.submit(request_for(engine, "waiting"))

    engine.cancel("waiting")

    with pytest.raises(RequestCancelled):
        result(waiting)
    assert engine.stats().waiting == 0
    engine.close()


def test_an_id_may_be_used_again_at_once_after_cancelling(engine: Engine) -> None:
    for _ in range(5):
        engine.submit(endless(engine, "again"))
        engine.cancel("again")

    assert result(engine.submit(request_for(engine, "again"))).frames.shape[0] == 6


def test_cancelling_unknown_and_finished_requests_does_nothing(engine: Engine) -> None:
    future = engine.submit(request_for(engine))
    result(future)

    engine.cancel("one")
    engine.cancel("never seen")

    assert result(future).frames.shape[0] == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "  \n"},
        {"conditioning": BuiltInSpeaker("nobody")},
        {"language": "klingon"},
        {"max_frames": 0},
        {"text": "word " * 5000},
        {"text": "word " * 5000, "text_mode": TextMode.PER_FRAME},
    ],
)
def test_a_request_that_can_never_work_is_rejected_and_leaves_nothing(wrong: dict[str, Any], engine: Engine) -> None:
    with pytest.raises(RequestRejected):
        result(engine.submit(replace(request_for(engine), **wrong)))

    assert (engine.stats().active, engine.stats().waiting) == (0, 0)
    result(engine.submit(request_for(engine)))


def test_an_id_in_flight_is_not_taken_twice(engine: Engine) -> None:
    first = engine.submit(endless(engine, "one"))

    with pytest.raises(RequestRejected, match="already in flight"):
        result(engine.submit(request_for(engine, "one")))

    assert not first.done()


def test_steps_grow_while_a_request_is_active(engine: Engine) -> None:
    engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().active == 1)
    before = engine.stats()

    wait_until(lambda: engine.stats().steps > before.steps + 3)

    assert engine.stats().frames >= before.frames + 3


def test_closing_fails_what_is_in_flight_and_all_that_comes_later(case: Case) -> None:
    engine = case.build(slots=1)
    running = engine.submit(endless(engine, "running"))
    wait_until(lambda: engine.stats().active == 1)
    waiting = engine.submit(request_for(engine, "waiting"))

    engine.close()
    engine.close()

    for future in (running, waiting, engine.submit(request_for(engine, "late"))):
        with pytest.raises(EngineDied):
            result(future)


def live_request_for(engine: Engine, request_id: str, text: str, frames: int = 200) -> SpeechRequest:
    request = request_for(engine, request_id, text, frames)
    return replace(request, urgency=Urgency.LIVE, text_mode=TextMode.PER_FRAME, seed=1)


SPOKEN_LIVE = "It is a truth universally acknowledged, that a single man in possession of a good fortune must want."


def test_speech_goes_on_behind_frames_that_were_made_elsewhere(engine: Engine) -> None:
    request = live_request_for(engine, "whole", SPOKEN_LIVE, frames=40)
    heard: list[SpeechChunk] = []
    whole = result(engine.submit(request, heard.append))
    prefix = np.concatenate([chunk.frames for chunk in heard[:3]])
    rest: list[SpeechChunk] = []

    resumed = result(engine.submit(replace(request, request_id="resumed", prefix=prefix), rest.append))

    start = len(prefix)
    assert 0 < start < len(whole.frames)
    np.testing.assert_array_equal(resumed.frames, whole.frames[start:])
    np.testing.assert_allclose(resumed.pcm, whole.pcm[start * engine.info.samples_per_frame :], atol=1e-5)
    np.testing.assert_array_equal(np.concatenate([chunk.pcm for chunk in rest]), resumed.pcm)
    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in rest]), resumed.frames)
    assert len(rest[0].frames) >= len(heard[2].frames), "its listener has something in hand"


@pytest.mark.parametrize("spoils", ["width", "code", "length"])
def test_a_prefix_that_is_no_speech_of_this_checkpoint_is_rejected(engine: Engine, spoils: str) -> None:
    info = engine.info
    shapes = {"width": (4, info.num_codebooks + 1), "code": (4, info.num_codebooks), "length": (9, info.num_codebooks)}
    prefix = np.zeros(shapes[spoils], dtype=np.int16)
    if spoils == "code":
        prefix[2, 1] = info.codebook_size

    with pytest.raises(RequestRejected, match="the prefix"):
        result(engine.submit(replace(live_request_for(engine, "one", "Hello there.", frames=8), prefix=prefix)))


def test_live_speech_has_slots_that_nothing_else_takes(case: Case) -> None:
    engine = case.build(slots=1)
    busy = [engine.submit(endless(engine, f"bulk {number}")) for number in range(3)]

    live = [engine.submit(live_request_for(engine, f"live {number}", "Hello.", frames=4)) for number in range(6)]

    assert [len(result(one).frames) for one in live] == [4] * 6
    assert not any(one.done() for one in busy[1:])
    engine.close()


def test_a_text_in_pieces_is_spoken_as_the_whole_of_it(engine: Engine) -> None:
    _require_open_text(engine)
    expected = result(engine.submit(live_request_for(engine, "whole", SPOKEN_LIVE)))
    heard: list[SpeechChunk] = []
    request = replace(live_request_for(engine, "pieces", SPOKEN_LIVE[:7]), text_is_open=True)

    future = engine.submit(request, heard.append)
    for start in range(7, 60, 3):
        engine.extend("pieces", SPOKEN_LIVE[start : start + 3], is_last=False)
    wait_until(lambda: bool(heard) and engine.stats().standing == 1)
    made = engine.stats().frames
    time.sleep(0.05)
    assert engine.stats().frames == made, "what is not written yet is not spoken"
    for start in range(61, len(SPOKEN_LIVE), 13):
        engine.extend("pieces", SPOKEN_LIVE[start : start + 13], is_last=start + 13 >= len(SPOKEN_LIVE))

    assert_same(result(future), expected)


def test_one_who_writes_slowly_holds_up_no_other(engine: Engine) -> None:
    _require_open_text(engine)
    slow = engine.submit(replace(live_request_for(engine, "slow", "Once upon a time "), text_is_open=True))
    wait_until(lambda: engine.stats().standing == 1)

    assert len(result(engine.submit(request_for(engine, "other", frames=6))).frames) == 6

    engine.cancel("slow")
    with pytest.raises(RequestCancelled):
        result(slow)
    engine.extend("slow", "nobody hears of it", is_last=True)
    assert len(result(engine.submit(request_for(engine, "later", frames=6))).frames) == 6


def test_an_open_text_that_ends_with_nothing_is_rejected(engine: Engine) -> None:
    _require_open_text(engine)
    future = engine.submit(replace(live_request_for(engine, "nothing", " "), text_is_open=True))

    engine.extend("nothing", " \n", is_last=True)

    with pytest.raises(RequestRejected):
        result(future)


def test_an_open_text_is_spoken_frame_by_frame_or_not_at_all(engine: Engine) -> None:
    request = replace(live_request_for(engine, "one", "Hello"), text_is_open=True, text_mode=TextMode.WHOLE)

    with pytest.raises(RequestRejected):
        result(engine.submit(request))


def _require_open_text(engine: Engine) -> None:
    if not engine.info.takes_open_text:
        pytest.skip("this engine says that it takes no open text")
