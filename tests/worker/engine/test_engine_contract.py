"""What is said, in which pieces, and what is refused: asked of one engine of each kind, idle between tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.worker.engine.contracted_engines import (
    ENGINES,
    Case,
    assert_same,
    case_of,
    endless,
    endless_stream,
    live_request_for,
    request_for,
    result,
    wait_until,
)
from tests.worker.engine.speech_stream import SpeechStream
from worker.engine.errors import RequestCancelled, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    Engine,
    FinishReason,
    SpeechChunk,
    TextMode,
)


@pytest.fixture(scope="module", params=[*ENGINES, "decoder apart", "decoder worker"])
def case(request: pytest.FixtureRequest, tiny_checkpoint: Path) -> Case:
    return case_of(request.param, tiny_checkpoint)


@pytest.fixture(scope="module")
def shared_engine(case: Case) -> Iterator[Engine]:
    """One of each kind for this file, because vLLM's takes seconds to start."""
    engine = case.build()
    yield engine
    engine.close()


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    """Idle, as a test leaves it."""
    yield shared_engine
    wait_until(lambda: _has_nothing_to_do(shared_engine))


def _has_nothing_to_do(engine: Engine) -> bool:
    stats = engine.stats()
    return (stats.active, stats.waiting) == (0, 0)


def test_a_request_becomes_speech_of_the_announced_format(engine: Engine) -> None:
    speech = result(engine.submit(request_for(engine, frames=6)))

    info = engine.info
    assert speech.frames.shape == (6, info.num_codebooks)
    assert speech.frames.dtype == np.int16
    assert all(0 <= code < info.codebook_size for code in speech.frames.flat)
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
    stream = SpeechStream(engine, endless_stream(engine, "endless"))

    chunks = iter(stream)
    first, second = next(chunks), next(chunks)

    assert not stream.speech.done()
    assert 0 < len(first) <= len(second)
    engine.cancel("endless")
    with pytest.raises(RequestCancelled):
        list(chunks)
    with pytest.raises(RequestCancelled):
        list(stream)


def test_a_stream_of_a_request_that_is_rejected_ends_at_once(engine: Engine) -> None:
    with pytest.raises(RequestRejected):
        list(SpeechStream(engine, request_for(engine, text=" ")))


def test_a_request_joins_while_others_speak(engine: Engine) -> None:
    before = engine.stats().progress
    long = engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().active == 1 and engine.stats().progress > before)

    result(engine.submit(request_for(engine, "short")))

    assert not long.done()
    engine.cancel("long")


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
    engine.cancel("one")


def test_steps_grow_while_a_request_is_active(engine: Engine) -> None:
    engine.submit(endless(engine, "long"))
    wait_until(lambda: engine.stats().active == 1)
    before = engine.stats()

    wait_until(lambda: engine.stats().progress > before.progress + 3)

    if engine.info.num_codebooks:  # without codes, frames are known at the end of a sentence
        assert engine.stats().frames >= before.frames + 3
    engine.cancel("long")


SPOKEN_LIVE = "It is a truth universally acknowledged, that a single man."
LIVE_FRAMES = 80
"""More than its text has tokens."""


def test_speech_goes_on_behind_frames_that_were_made_elsewhere(engine: Engine) -> None:
    request = live_request_for(engine, "whole", "A single man in possession.", frames=40)
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
        if not info.num_codebooks:
            pytest.skip("this engine has no codes that could be wrong")
        prefix[2, 1] = info.codebook_size

    with pytest.raises(RequestRejected, match="the prefix"):
        result(engine.submit(replace(live_request_for(engine, "one", "Hello there.", frames=8), prefix=prefix)))


def test_a_text_in_pieces_is_spoken_as_the_whole_of_it(engine: Engine) -> None:
    _require_open_text(engine)
    expected = result(engine.submit(live_request_for(engine, "whole", SPOKEN_LIVE, LIVE_FRAMES)))
    heard: list[SpeechChunk] = []
    request = replace(live_request_for(engine, "pieces", SPOKEN_LIVE[:7], LIVE_FRAMES), text_is_open=True)

    future = engine.submit(request, heard.append)
    for start in range(7, 31, 3):
        engine.extend("pieces", SPOKEN_LIVE[start : start + 3], is_last=False)
    wait_until(lambda: bool(heard) and engine.stats().standing == 1)
    made = engine.stats().frames
    time.sleep(0.05)
    assert engine.stats().frames == made, "what is not written yet is not spoken"
    for start in range(31, len(SPOKEN_LIVE), 13):
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
