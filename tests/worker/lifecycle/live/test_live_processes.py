"""The live server in processes beside the worker's, with their own lines to the engine: real ones, fake speech."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import psutil
import pytest

from storage.live.address import LiveAddress
from storage.live.messages import ENGINE_DIED, WORKER_LEAVING, OpenRefused, StreamDone, StreamFailed
from storage.runtime.config.settings import SettingsError, StorageSettings
from tests.process_tree import children_of, runs_module
from tests.threads import BoundedExecutor
from tests.waiting import until
from tests.worker.lifecycle.live.two_processes import TwoLiveProcesses
from tests.worker.live.caller import HeardStream, an_order, calling
from worker.engine.fake import fake_streamed_speech
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import FakeEngineSettings
from worker.lifecycle.live.processes import LiveProcesses
from worker.settings import WorkerSettings

PATIENCE_S = 60.0
HELLO = "Hello there, my friend."
LONG = "It is a sentence of a text that goes on for a while. " * 40
LIVE_SLOTS = 4


@pytest.fixture
def settings(storage_settings: StorageSettings) -> WorkerSettings:
    given = storage_settings.model_dump()
    return WorkerSettings(**given, engine="fake", slots=8, live_slots=LIVE_SLOTS, worker_name="gpu-0")


@pytest.fixture
def step_s() -> float:
    """What the engine waits for each frame."""
    return 0.002


@pytest.fixture
def engine(step_s: float) -> Iterator[EngineProcess]:
    engine = EngineProcess(FakeEngineSettings(slots=8, live_slots=LIVE_SLOTS, step_s=step_s))
    engine.start()
    yield engine
    engine.close()


@pytest.fixture
def live(settings: WorkerSettings, engine: EngineProcess) -> Iterator[LiveProcesses]:
    """One process."""
    yield from _served(settings, engine)


@pytest.fixture
def two(settings: WorkerSettings, engine: EngineProcess) -> Iterator[LiveProcesses]:
    yield from _served(TwoLiveProcesses(**settings.model_dump()), engine)


def _served(settings: WorkerSettings, engine: EngineProcess) -> Iterator[LiveProcesses]:
    live = LiveProcesses(settings, "gpu-0", engine)
    live.start()
    yield live
    live.close()


def _address(live: LiveProcesses) -> LiveAddress:
    (address,) = live.addresses()
    return address


def _heard(live: LiveProcesses) -> HeardStream:
    return _heard_at(_address(live))


def _heard_at(address: LiveAddress) -> HeardStream:
    with calling(address) as caller:
        caller.open("s", an_order(HELLO))
        return caller.hear("s")


def _streams_done(live: LiveProcesses) -> float:
    samples = [sample for metric in live.collect() for sample in metric.samples]
    name = "rhapsode_live_worker_streams_total"
    return sum(each.value for each in samples if each.name == name and each.labels == {"outcome": "done"})


def _pids() -> list[int]:
    return [each for each in children_of(os.getpid()) if runs_module(each, "worker.lifecycle.live.process")]


def _pid() -> int:
    (pid,) = _pids()
    return pid


def _pid_at(address: LiveAddress) -> int:
    """They start at the same time, so that their ids say nothing of their order."""
    port = urlsplit(address.url).port
    (pid,) = (each for each in _pids() if port in _ports_of(each))
    return pid


def _ports_of(pid: int) -> set[int]:
    sockets = psutil.Process(pid).net_connections("tcp")
    return {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}


def _is_served_anew(live: LiveProcesses, before: LiveAddress) -> bool:
    return len(live.addresses()) == 1 and _address(live).token != before.token


def test_it_speaks_what_the_engine_makes(live: LiveProcesses) -> None:
    stream = _heard(live)

    _, frames = fake_streamed_speech(HELLO, 7)
    assert isinstance(stream.end, StreamDone)
    assert stream.codes[0] == frames.astype("<i2").tobytes()
    until(lambda: _streams_done(live) == 1)
    assert (live.num_places, live.num_streams, _address(live).free) == (LIVE_SLOTS, 0, LIVE_SLOTS)


def test_a_killed_process_frees_the_engine_and_another_one_serves(live: LiveProcesses, engine: EngineProcess) -> None:
    before = _address(live)
    with calling(before) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        os.kill(_pid(), signal.SIGKILL)
        until(lambda: engine.stats().active == 0)

    until(lambda: _is_served_anew(live, before))
    assert isinstance(_heard(live).end, StreamDone)
    assert engine.deaths == 0


def test_a_killed_engine_ends_its_streams_and_the_next_one_speaks(live: LiveProcesses, engine: EngineProcess) -> None:
    pid = engine.pid
    assert pid is not None
    with calling(_address(live)) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        os.kill(pid, signal.SIGKILL)
        end = caller.hear("s").end
        # Before there is another engine: it waits for that one.
        caller.open("next", an_order(HELLO))
        following = caller.hear("next")

    assert isinstance(end, StreamFailed)
    assert end.code == ENGINE_DIED
    assert isinstance(following.end, StreamDone)


def test_a_process_that_takes_anothers_place_refuses_as_that_one_did(live: LiveProcesses) -> None:
    live.refuse_new(is_leaving=True)
    until(lambda: _address(live).free == 0)
    before = _address(live)
    os.kill(_pid(), signal.SIGKILL)
    until(lambda: _is_served_anew(live, before))

    until(lambda: _address(live).free == 0)
    end = _heard(live).end

    assert isinstance(end, OpenRefused)
    assert end.code == WORKER_LEAVING


def test_it_refuses_for_a_swap_only_while_it_is_idle(live: LiveProcesses) -> None:
    with calling(_address(live)) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        assert not live.refuse_if_idle()
        caller.cancel("s")
        until(live.refuse_if_idle)


def test_its_end_hands_streams_over(live: LiveProcesses) -> None:
    pid = _pid()
    with calling(_address(live)) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        live.close()
        end = caller.hear("s").end

    assert isinstance(end, StreamFailed)
    assert end.code == WORKER_LEAVING
    assert pid not in children_of(os.getpid())


@pytest.mark.parametrize("step_s", [0.02])
def test_its_end_leaves_streams_their_grace(live: LiveProcesses, engine: EngineProcess) -> None:
    """Longer than a process has to end that was only told to."""
    with calling(_address(live)) as caller, BoundedExecutor(1) as threads:
        caller.open("s", an_order(LONG[: len(LONG) // 2]))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        began_s = time.monotonic()
        closed = threads.submit(live.close, PATIENCE_S)
        end = caller.hear("s").end
        took_s = time.monotonic() - began_s
    closed.result(PATIENCE_S)

    assert isinstance(end, StreamDone)
    assert took_s > 3
    until(lambda: engine.stats().active == 0)


def test_a_port_that_is_taken_is_named_at_the_start(settings: WorkerSettings, engine: EngineProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        changed = settings.model_copy(update={"live_host": "127.0.0.1", "live_port": taken.getsockname()[1]})
        live = LiveProcesses(changed, "gpu-0", engine)

        with pytest.raises(SettingsError, match="RHAPSODE_LIVE_PORT"):
            live.start()


def test_two_share_the_places_and_what_they_count_adds_up(two: LiveProcesses) -> None:
    addresses = two.addresses()
    streams = [_heard_at(each) for each in addresses]

    assert len({each.token for each in addresses}) == 2
    assert [each.live_slots for each in addresses] == [LIVE_SLOTS // 2] * 2
    assert two.num_places == LIVE_SLOTS
    assert streams[0].codes == streams[1].codes
    until(lambda: _streams_done(two) == 2)


def test_a_killed_one_leaves_the_other_its_streams_and_the_counts_of_both(two: LiveProcesses) -> None:
    first, second = two.addresses()
    _heard_at(first)
    until(lambda: _streams_done(two) == 1)
    with calling(second) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        until(lambda: two.num_streams == 1)
        os.kill(_pid_at(first), signal.SIGKILL)
        until(lambda: len(tokens := {each.token for each in two.addresses()}) == 2 and first.token not in tokens)
        end = caller.hear("s").end

    assert isinstance(end, StreamDone)
    assert second.token in {each.token for each in two.addresses()}
    until(lambda: _streams_done(two) == 2)


def test_while_one_is_busy_the_idle_one_takes_streams_after_a_swap_was_refused(two: LiveProcesses) -> None:
    first, second = two.addresses()
    with calling(second) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)

        assert not two.refuse_if_idle()
        assert isinstance(_heard_at(first).end, StreamDone)
        caller.cancel("s")
        until(two.refuse_if_idle)
    assert isinstance(_heard_at(first).end, OpenRefused)


def test_a_given_port_is_the_first_of_two(settings: WorkerSettings, engine: EngineProcess) -> None:
    port = _first_of_two_free_ports()
    given = {"live_host": "127.0.0.1", "live_port": port}

    for live in _served(TwoLiveProcesses(**settings.model_dump()).model_copy(update=given), engine):
        assert [each.url for each in live.addresses()] == [f"ws://127.0.0.1:{port}", f"ws://127.0.0.1:{port + 1}"]


def _first_of_two_free_ports() -> int:
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first, suppress(OSError):
            port = int(first.getsockname()[1])
            with socket.create_server(("127.0.0.1", port + 1)):
                return port
