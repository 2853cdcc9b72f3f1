"""Who gets a slot, what is said beside others, and what becomes of it when an engine ends. Each test builds its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.threads import BoundedExecutor
from tests.worker.engine.contracted_engines import (
    SLOTS,
    Case,
    assert_same,
    endless,
    endless_stream,
    live_request_for,
    request_for,
    result,
    wait_until,
)
from tests.worker.engine.speech_stream import SpeechStream
from worker.engine.errors import EngineDied, RequestCancelled
from worker.engine.interface import (
    Engine,
    Speech,
    SpeechRequest,
    Urgency,
)
from worker.engine.settings import NativeEngineSettings


@pytest.fixture(scope="module")
def alone(case: Case) -> Iterator[Engine]:
    """An engine with one slot, which says what a request gets that has no company."""
    engine = case.build(slots=1)
    yield engine
    engine.close()


def test_requests_of_many_threads_each_get_what_they_would_get_alone(case: Case, alone: Engine) -> None:
    engine = case.build()
    requests = [
        replace(request_for(engine, str(n), "Hello there, all of you."[: 5 + n], 2 + n % 7), seed=n)
        for n in range(2 * SLOTS)
    ]
    expected = [result(alone.submit(request)) for request in requests]

    def speak(request: SpeechRequest) -> Speech:
        return result(engine.submit(request))

    with BoundedExecutor(8) as threads:
        spoken = list(threads.map(speak, requests))

    for one, other in zip(spoken, expected, strict=True):
        assert_same(one, other)
    assert engine.stats().finished == len(requests)
    engine.close()


def test_streams_and_whole_utterances_side_by_side_are_those_that_they_are_alone(case: Case, alone: Engine) -> None:
    engine = case.build()
    requests = [replace(request_for(engine, str(n), frames=4 + 8 * n), seed=n) for n in range(4)]
    expected = [result(alone.submit(request)) for request in requests]

    streams = [SpeechStream(engine, request) for request in requests[::2]]
    futures = [engine.submit(request) for request in requests[1::2]]

    for stream, speech in zip(streams, expected[::2], strict=True):
        np.testing.assert_array_equal(np.concatenate(list(stream)), speech.pcm)
        assert_same(result(stream.speech), speech)
    for future, speech in zip(futures, expected[1::2], strict=True):
        assert_same(result(future), speech)
    engine.close()


def test_a_stream_ends_with_its_engine(case: Case) -> None:
    engine = case.build(slots=1)
    chunks = iter(SpeechStream(engine, endless_stream(engine, "endless")))
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
    bulk = [submit(request_for(engine, f"bulk {n}", frames=3)) for n in range(2)]
    waits = submit(replace(request_for(engine, "interactive", frames=3), urgency=Urgency.INTERACTIVE))

    engine.cancel("running")

    for future in (*bulk, waits):
        result(future)
    wait_until(lambda: len(order) == 3)
    assert order[0] == "interactive"
    assert sorted(order[1:]) == [f"bulk {n}" for n in range(2)]
    engine.close()


def test_the_native_engine_on_a_cpu_keeps_room_for_somebody_who_waits(tiny_checkpoint: Path) -> None:
    engine = Case(NativeEngineSettings(tiny_checkpoint, num_threads=1)).build(slots=1)
    bulk = [engine.submit(endless(engine, name)) for name in ("running", "waiting")]
    wait_until(lambda: engine.stats().active == 1)

    result(engine.submit(replace(request_for(engine, "interactive"), urgency=Urgency.INTERACTIVE)))

    assert not any(future.done() for future in bulk)
    assert (engine.stats().active, engine.stats().waiting) == (1, 1)
    engine.close()


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


def test_live_speech_has_slots_that_nothing_else_takes(case: Case) -> None:
    engine = case.build(slots=1)
    more = engine.info.live_slots + 1
    busy = [engine.submit(endless(engine, f"bulk {number}")) for number in range(3)]

    live = [engine.submit(live_request_for(engine, f"live {number}", "Hello.", frames=4)) for number in range(more)]

    assert [len(result(one).frames) for one in live] == [4] * more
    assert not any(one.done() for one in busy[1:])
    engine.close()
