"""The engine in its real process, and everything that may befall it there."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.process_tree import is_alive
from tests.threads import BoundedExecutor
from tests.waiting import until
from tests.worker.engine.speech_stream import SpeechStream
from worker.engine.errors import (
    CheckpointError,
    EngineDied,
    EngineError,
    EngineUnavailable,
    RequestCancelled,
    RequestRejected,
)
from worker.engine.fake import HANG_MARKER, POISON_MARKER, fake_speech, fake_streamed_speech
from worker.engine.interface import (
    BuiltInSpeaker,
    InContextPrompt,
    ReferenceAudio,
    Speech,
    SpeechRequest,
    TextMode,
    Urgency,
)
from worker.engine.process.engine_process import EngineProcess, ProcessTimes
from worker.engine.process.front import EngineLine
from worker.engine.process.protocol import RELEASE, CallFailed
from worker.engine.settings import EngineSettings, FakeEngineSettings, NativeEngineSettings
from worker.process.children.channel import Channel

TIMEOUT_S = 60
LONG_TEXT = "x" * 4000
"""2,004 frames: two seconds and more at a millisecond each."""
STREAMED_TEXT = "x" * 1000
"""504 frames: the fake engine makes all of them when the first is to be heard, and takes no step meanwhile."""


@contextmanager
def _running(settings: EngineSettings, times: ProcessTimes | None = None) -> Generator[EngineProcess]:
    engine = EngineProcess(settings, times)
    engine.start()
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def steady() -> Iterator[EngineProcess]:
    """One process for the tests that do not kill it."""
    with _running(FakeEngineSettings(slots=64, step_s=0.001)) as engine:
        yield engine


@pytest.fixture
def engine() -> Iterator[EngineProcess]:
    """A process to be killed."""
    with _running(FakeEngineSettings(slots=16, step_s=0.001), ProcessTimes(watchdog_s=1.5)) as engine:
        yield engine


def _request(request_id: str, text: str = "A sentence.", seed: int = 0) -> SpeechRequest:
    return SpeechRequest(request_id, text, BuiltInSpeaker("ada"), seed=seed)


def _pid(engine: EngineProcess) -> int:
    assert engine.pid is not None
    return engine.pid


def _serves(engine: EngineProcess) -> bool:
    speech = engine.submit(_request("again", "Still here.")).result(TIMEOUT_S)
    return np.array_equal(speech.pcm, fake_speech("Still here.", 0)[0])


def test_it_says_what_the_engine_inside_says(steady: EngineProcess) -> None:
    asked_s = time.monotonic()
    speech = steady.submit(_request("one", "Good morning.", seed=9)).result(TIMEOUT_S)
    took_s = time.monotonic() - asked_s

    pcm, frames = fake_speech("Good morning.", 9)
    assert np.array_equal(speech.pcm, pcm)
    assert np.array_equal(speech.frames, frames)
    assert speech.sample_rate_hz == 24_000
    assert 0 < speech.engine_s < took_s
    assert steady.info.model == "fake"
    assert steady.info.slots == 64
    assert steady.pid != os.getpid()


def test_two_hundred_requests_from_many_threads_each_get_their_own_speech(steady: EngineProcess) -> None:
    def say(number: int) -> bool:
        speech = steady.submit(_request(f"c{number}", f"Sentence number {number}.", number)).result(TIMEOUT_S)
        return np.array_equal(speech.pcm, fake_speech(f"Sentence number {number}.", number)[0])

    with BoundedExecutor(50) as threads:
        outcomes = list(threads.map(say, range(200)))

    assert outcomes == [True] * 200


def test_samples_are_heard_while_they_are_made(steady: EngineProcess) -> None:
    text = "Long enough for many chunks. " * 20
    stream = SpeechStream(steady, _request("stream", text))

    chunks = iter(stream)
    first = next(chunks)
    ended_before = stream.speech.done()
    rest = list(chunks)

    pcm, frames = fake_speech(text, 0)
    assert not ended_before
    assert len(first) == 1920
    assert len(rest) > 5
    assert np.array_equal(np.concatenate((first, *rest)), pcm)
    speech = stream.speech.result(TIMEOUT_S)
    assert np.array_equal(speech.pcm, pcm)
    assert np.array_equal(speech.frames, frames)


def test_a_text_reaches_the_process_in_pieces(steady: EngineProcess) -> None:
    text = "Said while it is written, word by word, until it ends."
    request = dataclasses.replace(
        _request("written", text[:9]), text_mode=TextMode.PER_FRAME, urgency=Urgency.LIVE, text_is_open=True
    )
    stream = SpeechStream(steady, request)
    for start in range(9, len(text), 5):
        steady.extend("written", text[start : start + 5], is_last=start + 5 >= len(text))

    pcm, frames = fake_streamed_speech(text, 0)
    assert np.array_equal(np.concatenate(list(stream)), pcm)
    assert np.array_equal(stream.speech.result(TIMEOUT_S).frames, frames)


def test_a_listener_that_does_not_listen_holds_up_no_other(steady: EngineProcess) -> None:
    silent = SpeechStream(steady, _request("nobody listens", STREAMED_TEXT))

    assert _serves(steady)

    speech = silent.speech.result(TIMEOUT_S)
    assert np.array_equal(np.concatenate(list(silent)), speech.pcm)


def test_streams_that_are_given_up_leave_the_process_as_it_was(steady: EngineProcess) -> None:
    before = steady.pid
    for number in range(20):
        stream = SpeechStream(steady, _request(f"given up {number}", STREAMED_TEXT))
        if number % 2:
            next(iter(stream))
        steady.cancel(f"given up {number}")
        with pytest.raises(RequestCancelled):
            stream.speech.result(TIMEOUT_S)

    assert _serves(steady)
    assert steady.pid == before
    until(lambda: steady.stats().active == 0)


def test_a_stream_ends_with_the_process_that_made_it(engine: EngineProcess) -> None:
    stream = SpeechStream(engine, _request("killed", STREAMED_TEXT))
    chunks = iter(stream)
    heard = [next(chunks)]

    os.kill(_pid(engine), signal.SIGKILL)

    with pytest.raises(EngineDied):
        heard.extend(chunks)
    whole, _ = fake_speech(STREAMED_TEXT, 0)
    joined = np.concatenate(heard)
    assert np.array_equal(joined, whole[: len(joined)])
    assert _serves(engine)


def test_two_minutes_of_samples_arrive_intact(steady: EngineProcess) -> None:
    text = "A long story. " * 214

    speech = steady.submit(_request("long", text)).result(TIMEOUT_S)

    pcm, frames = fake_speech(text, 0)
    assert speech.pcm.size > 120 * 24_000
    assert np.array_equal(speech.pcm, pcm)
    assert np.array_equal(speech.frames, frames)


def test_a_recording_becomes_a_voice_prompt(steady: EngineProcess) -> None:
    pcm = np.linspace(-1, 1, 48_000, dtype=np.float32)

    prompt = steady.encode_voice(ReferenceAudio(pcm, 24_000, "What it says.")).result(TIMEOUT_S)

    assert isinstance(prompt, InContextPrompt)
    speech = steady.submit(SpeechRequest("cloned", "In that voice.", prompt)).result(TIMEOUT_S)
    assert np.array_equal(speech.pcm, fake_speech("In that voice.", 0)[0])


def test_a_rejected_request_is_rejected_here(steady: EngineProcess) -> None:
    with pytest.raises(RequestRejected, match="nobody"):
        steady.submit(SpeechRequest("a", "Hello.", BuiltInSpeaker("nobody"))).result(TIMEOUT_S)


def test_a_request_too_large_for_the_socket_is_rejected_and_nothing_else_suffers(steady: EngineProcess) -> None:
    with pytest.raises(RequestRejected, match="too large"):
        steady.submit(_request("huge", "x" * 5_000_000)).result(TIMEOUT_S)

    assert _serves(steady)


def test_cancel_frees_the_slot(steady: EngineProcess) -> None:
    future = steady.submit(_request("unwanted", LONG_TEXT))
    until(lambda: steady.stats().active > 0)

    steady.cancel("unwanted")
    steady.cancel("never heard of")

    with pytest.raises(RequestCancelled):
        future.result(TIMEOUT_S)
    until(lambda: steady.stats().active == 0)


def test_statistics_follow_the_engine(steady: EngineProcess) -> None:
    finished = steady.stats().finished
    steady.submit(_request("counted")).result(TIMEOUT_S)

    until(lambda: steady.stats().finished > finished)


def test_a_killed_engine_fails_all_in_flight_and_serves_the_next(engine: EngineProcess) -> None:
    first = _pid(engine)
    in_flight = [engine.submit(_request(f"r{i}", LONG_TEXT)) for i in range(20)]
    until(lambda: engine.stats().active > 0)

    os.kill(first, signal.SIGKILL)

    for future in in_flight:
        with pytest.raises(EngineDied, match=f"the engine process {first} ended: killed by SIGKILL$"):
            future.result(TIMEOUT_S)
    assert _serves(engine)
    assert engine.pid != first
    assert (engine.deaths, engine.starts) == (1, 2)


def test_every_call_ends_while_the_engine_is_killed_again_and_again(engine: EngineProcess) -> None:
    def say(number: int) -> str:
        try:
            speech = engine.submit(_request(f"k{number}", f"Number {number}.")).result(TIMEOUT_S)
        except EngineDied:
            return "died"
        return "said" if np.array_equal(speech.pcm, fake_speech(f"Number {number}.", 0)[0]) else "wrong"

    killed = threading.Event()

    def talk(speaker: int) -> set[str]:
        said: set[str] = set()
        for number in itertools.count(10_000 * speaker):
            said.add(say(number))
            if killed.is_set():
                break
        return said

    with BoundedExecutor(32) as threads:
        futures = [threads.submit(talk, speaker) for speaker in range(32)]
        try:
            for _ in range(3):
                until(lambda: engine.stats().active > 0)
                os.kill(_pid(engine), signal.SIGKILL)
                until(lambda: engine.pid is None)
        finally:
            killed.set()
        wait(futures, TIMEOUT_S)

    outcomes = set[str]().union(*(future.result(0) for future in futures))
    assert outcomes == {"died", "said"}
    assert engine.deaths == 3


def test_poison_kills_the_process_and_not_the_worker(engine: EngineProcess) -> None:
    with pytest.raises(EngineDied, match="status 86"):
        engine.submit(_request("poison", f"Some {POISON_MARKER}.")).result(TIMEOUT_S)

    assert _serves(engine)


def test_a_stopped_process_is_found_by_its_silence(engine: EngineProcess) -> None:
    future = engine.submit(_request("a", LONG_TEXT))
    until(lambda: engine.stats().active > 0)

    os.kill(_pid(engine), signal.SIGSTOP)

    with pytest.raises(EngineDied, match="no heartbeat for"):
        future.result(TIMEOUT_S)
    assert _serves(engine)


def test_a_hung_loop_is_found_by_its_steps(engine: EngineProcess) -> None:
    hung, neighbour = engine.submit(_request("a", HANG_MARKER)), engine.submit(_request("b", LONG_TEXT))

    for future in (hung, neighbour):
        with pytest.raises(EngineDied, match="no step for"):
            future.result(TIMEOUT_S)
    assert _serves(engine)


def test_an_idle_engine_outlives_the_watchdog(engine: EngineProcess) -> None:
    time.sleep(2)

    assert engine.deaths == 0
    assert _serves(engine)


def test_a_call_during_a_restart_can_be_cancelled(engine: EngineProcess) -> None:
    os.kill(_pid(engine), signal.SIGKILL)
    until(lambda: engine.pid is None)

    future = engine.submit(_request("early"))
    assert engine.stats().waiting == 1
    engine.cancel("early")

    with pytest.raises(RequestCancelled):
        future.result(TIMEOUT_S)


def test_a_call_does_not_wait_for_ever_for_a_restart() -> None:
    times = ProcessTimes(queue_s=0.2)
    with _running(FakeEngineSettings(step_s=0.001), times) as engine:
        os.kill(_pid(engine), signal.SIGKILL)
        until(lambda: engine.pid is None)

        with pytest.raises(EngineDied, match="not ready within"):
            engine.submit(_request("early")).result(TIMEOUT_S)

        until(lambda: engine.submit(_request("late")).exception(TIMEOUT_S) is None)
        assert _serves(engine)


def test_close_fails_what_is_in_flight_and_leaves_no_process() -> None:
    with _running(FakeEngineSettings(slots=1, step_s=0.001)) as engine:
        pid = _pid(engine)
        in_flight: list[Future[Speech]] = [engine.submit(_request(name, LONG_TEXT)) for name in ("a", "b")]

        engine.close()
        engine.close()

        in_flight.append(engine.submit(_request("later")))
        for future in in_flight:
            with pytest.raises(EngineDied):
                future.result(TIMEOUT_S)
        until(lambda: not is_alive(pid))
        assert engine.deaths == 0


def test_nothing_is_served_before_the_start() -> None:
    engine = EngineProcess(FakeEngineSettings())

    with pytest.raises(EngineDied, match="not been started"):
        engine.submit(_request("a")).result(0)
    with pytest.raises(EngineDied, match="not been started"):
        _ = engine.info
    engine.close()


def test_an_unusable_checkpoint_is_told_once_and_not_tried_again(tmp_path: Path) -> None:
    engine = EngineProcess(NativeEngineSettings(checkpoint=tmp_path / "nothing"))

    with pytest.raises(CheckpointError, match="nothing"):
        engine.start()

    assert engine.starts == 1


def test_a_host_that_cannot_start_ends_the_start_at_the_third_try() -> None:
    engine = EngineProcess(FakeEngineSettings(slots=0))

    with pytest.raises(EngineDied, match=r"ended 3 times before it was ready: .*should have at least one slot"):
        engine.start()

    assert engine.starts == 3


def test_a_host_that_is_never_ready_ends_the_start_after_its_time() -> None:
    engine = EngineProcess(FakeEngineSettings(slots=0), ProcessTimes(start_s=0.2))

    with pytest.raises(EngineDied, match="not ready after 0 s"):
        engine.start()


def test_a_host_ends_with_its_worker() -> None:
    program = (
        "import sys, time\n"
        "from worker.engine.process.engine_process import EngineProcess\n"
        "from worker.engine.settings import FakeEngineSettings\n"
        "engine = EngineProcess(FakeEngineSettings())\n"
        "engine.start()\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    with worker.stdout:
        host = int(worker.stdout.readline())
        assert is_alive(host)

        worker.kill()
        worker.wait()

    until(lambda: not is_alive(host), within_s=30)


def test_signals_to_the_group_do_not_end_the_host(steady: EngineProcess) -> None:
    os.kill(_pid(steady), signal.SIGINT)
    os.kill(_pid(steady), signal.SIGTERM)

    assert _serves(steady)
    assert steady.deaths == 0


def test_what_the_host_writes_to_stderr_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), _running(FakeEngineSettings(step_s=0.001)) as engine:
        host = _pid(engine)
        Path(f"/proc/{host}/fd/2").write_text("a word from below\n")

        until(lambda: f"engine host {host}: a word from below" in caplog.text)


SAYS_NONSENSE_ONCE = """#!{python}
import os, pickle, socket, sys, time
from pathlib import Path

if not Path({mark!r}).exists():
    Path({mark!r}).touch()
    socket.socket(fileno=int(sys.argv[-1].split(",")[0])).sendall({said!r})
    time.sleep(600)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


def _message(value: object) -> bytes:
    ours, its = (Channel(end) for end in socket.socketpair())
    ours.send(value)
    ours.close()
    with its.stream:
        return its.stream.recv(100_000)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", "another release"),
        (RELEASE + b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", "a message of"),
        (RELEASE + struct.pack("=QQI", 8, 0, 0) + b"no words", "not a message"),
        (RELEASE + _message("ready"), "is said by no host"),
        (RELEASE + _message(CallFailed(7, EngineError("why"))), "call 7, which is not in flight"),
    ],
    ids=["greeting", "lengths", "pickle", "value", "answer"],
)
def test_a_host_that_says_nonsense_is_replaced(
    said: bytes, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    host = tmp_path / "host"
    host.write_text(SAYS_NONSENSE_ONCE.format(python=sys.executable, mark=str(tmp_path / "mark"), said=said))
    host.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(host))

    with _running(FakeEngineSettings(step_s=0.001)) as engine:
        assert _serves(engine)
        assert (engine.deaths, engine.starts) == (1, 2)
    assert "it sent nonsense" in caplog.text
    assert complaint in caplog.text


def test_another_process_calls_the_engine_by_its_own_line(engine: EngineProcess) -> None:
    """Here this process is the other one."""
    line = EngineLine(engine.info)
    first, channel = engine.open_line()
    try:
        waiting = line.submit(_request("early", "Before there is a channel."))
        line.use(channel)
        assert np.array_equal(waiting.result(TIMEOUT_S).pcm, fake_speech("Before there is a channel.", 0)[0])
        by_line = SpeechStream(line, _request("line", STREAMED_TEXT))
        by_worker = SpeechStream(engine, _request("worker", STREAMED_TEXT))
        assert np.array_equal(np.concatenate(list(by_line)), np.concatenate(list(by_worker)))
        assert _serves(engine)

        long = line.submit(_request("long", LONG_TEXT))
        until(lambda: engine.stats().active == 1)
        os.kill(_pid(engine), signal.SIGKILL)
        with pytest.raises(EngineDied):
            long.result(TIMEOUT_S)

        later = line.submit(_request("later", "It waits."))
        until(lambda: _opens(engine, first))
        line.use(engine.open_line()[1])
        assert np.array_equal(later.result(TIMEOUT_S).pcm, fake_speech("It waits.", 0)[0])
    finally:
        line.close()


def test_calls_of_a_line_whose_process_is_gone_leave_the_engine(engine: EngineProcess) -> None:
    line = EngineLine(engine.info)
    line.use(engine.open_line()[1])
    calls = [line.submit(_request(f"long-{number}", LONG_TEXT)) for number in range(8)]
    until(lambda: engine.stats().active == 8)

    line.close()

    until(lambda: engine.stats().active == 0)
    for call in calls:
        with pytest.raises(EngineDied):
            call.result(TIMEOUT_S)
    assert engine.deaths == 0
    assert _serves(engine)


def _opens(engine: EngineProcess, before: int) -> bool:
    """Another host than that one is ready."""
    try:
        number, channel = engine.open_line()
    except EngineUnavailable:
        return False
    channel.close()
    return number != before
