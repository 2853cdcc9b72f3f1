"""The supervisor with small programs as its processes: restarts, delays, order of the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rhapsode.stack.errors import StackStartFailed
from rhapsode.stack.events import ProcessEnded, ProcessKilled, ProcessRestarted, StackEvent, Stopping
from rhapsode.stack.state_file import ProcessRecord
from rhapsode.stack.supervision import child as child_module
from rhapsode.stack.supervision.child import ProcessSpec, SupervisedChild
from rhapsode.stack.supervision.supervisor import Supervisor, end_orphans
from tests.process_tree import is_alive
from worker.engine.cores import core_numbers

SLEEP = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
PARENT = (
    "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "print('child', p.pid, flush=True); time.sleep(60)"
)


class Recorder:
    """Everything the supervisor said, and the processes it last recorded. is_full: nothing can be recorded."""

    def __init__(self) -> None:
        self.events: list[StackEvent] = []
        self.records: tuple[ProcessRecord, ...] = ()
        self.is_full = False
        self.supervisor = Supervisor(self.events.append, self._record)

    def _record(self, records: tuple[ProcessRecord, ...]) -> bool:
        self.records = self.records if self.is_full else records
        return not self.is_full


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.supervisor.stop([[record.name for record in recorder.records]], lambda: True)


def program(folder: Path, name: str, code: str, grace_s: float = 5.0) -> SupervisedChild:
    return SupervisedChild(ProcessSpec(name, (sys.executable, "-c", code), os.environ, folder, grace_s), folder)


def wait_until(is_so: Callable[[], bool], look: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        look()
        time.sleep(0.02)


def test_a_killed_process_is_started_again_after_half_a_second(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "sleeper", SLEEP)])
    first = recorder.records[0]

    os.kill(first.pid, signal.SIGKILL)
    killed_s = time.monotonic()
    wait_until(
        lambda: ProcessRestarted("sleeper", recorder.records[0].pid) in recorder.events, recorder.supervisor.watch
    )

    assert ProcessEnded("sleeper", "was ended by SIGKILL", "", 0.5, tmp_path / "sleeper.log") in recorder.events
    assert time.monotonic() - killed_s >= 0.5
    assert recorder.records[0] != first
    assert recorder.records[0].is_alive()
    assert not first.is_alive()


def test_a_restart_that_could_not_be_recorded_is_recorded_at_a_later_look(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "sleeper", SLEEP)])
    first = recorder.records[0]
    recorder.is_full = True
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: any(isinstance(event, ProcessRestarted) for event in recorder.events), recorder.supervisor.watch)
    assert recorder.records == (first,)

    recorder.is_full = False
    recorder.supervisor.watch()

    assert recorder.records[0].pid == recorder.supervisor.pid("sleeper") != first.pid


def test_what_a_dead_process_had_started_dies_with_it(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "parent", PARENT)])
    log = tmp_path / "parent.log"
    wait_until(lambda: log.read_text().endswith("\n"))  # the whole line: it is written in pieces
    grandchild = int(log.read_text().split()[1])

    os.kill(recorder.records[0].pid, signal.SIGKILL)
    wait_until(lambda: bool(recorder.events), recorder.supervisor.watch)

    wait_until(lambda: not is_alive(grandchild))


def test_delays_double_to_a_few_seconds_and_begin_anew_after_a_healthy_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = program(tmp_path, "brief", "")

    def fail_once() -> float:
        child.start()
        wait_until(lambda: child.exit_status() is not None)
        return child.restart_delay_s()

    assert [fail_once() for _ in range(6)] == [0.5, 1, 2, 4, 4, 4]
    monkeypatch.setattr(child_module, "HEALTHY_S", 0.0)
    assert fail_once() == 0.5


@pytest.mark.parametrize("healthy_s", [0.0, 10.0])
def test_a_process_that_will_not_stay_ends_the_start_with_its_last_words(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, healthy_s: float
) -> None:
    """Also one that takes longer to fail than others take to come up."""
    monkeypatch.setattr(child_module, "HEALTHY_S", healthy_s)
    recorder.supervisor.start(
        [program(tmp_path, "broken", "print('starting'); raise SystemExit('no such checkpoint')")]
    )

    with pytest.raises(StackStartFailed, match=r"broken ended with status 1 while starting: .*no such checkpoint"):
        wait_until(lambda: False, recorder.supervisor.watch_start)


def test_a_process_with_wrong_settings_ends_the_start_at_once(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "wrong", "print('STORE: must be a URL'); raise SystemExit(2)")])

    with pytest.raises(StackStartFailed, match=r"wrong ended with status 2 while starting: STORE") as raised:
        wait_until(lambda: False, recorder.supervisor.watch_start)

    assert raised.value.exit_status == 2
    assert recorder.events == []


def test_a_process_that_gives_up_later_is_reported_with_its_last_words(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "broken", "print('loading'); raise SystemExit('bad file')")])

    ended = ProcessEnded("broken", "ended with status 1", "bad file", 0.5, tmp_path / "broken.log")
    wait_until(lambda: ended in recorder.events, recorder.supervisor.watch)


def test_the_end_comes_group_after_group(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, name, SLEEP) for name in ("state", "worker", "api")])
    pids = [record.pid for record in recorder.records]

    recorder.supervisor.stop([["api"], ["worker"], ["state"]], lambda: False)

    assert recorder.events == [Stopping(("api",)), Stopping(("worker",)), Stopping(("state",))]
    assert recorder.records == ()
    assert not any(is_alive(pid) for pid in pids)


def test_who_does_not_end_within_his_grace_is_killed(recorder: Recorder, tmp_path: Path) -> None:
    recorder.supervisor.start([program(tmp_path, "deaf", DEAF, grace_s=0.3)])
    wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())

    recorder.supervisor.stop([["deaf"]], lambda: False)

    assert ProcessKilled("deaf", 0.3) in recorder.events


def test_in_a_hurry_no_process_gets_a_grace(recorder: Recorder, tmp_path: Path) -> None:
    """The grace is longer than any test may take."""
    recorder.supervisor.start([program(tmp_path, "deaf", DEAF, grace_s=3600)])
    (pid,) = [record.pid for record in recorder.records]

    recorder.supervisor.stop([["deaf"]], lambda: True)

    assert not is_alive(pid)


def test_a_full_log_makes_room_and_keeps_one_predecessor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "MAX_LOG_BYTES", 8)
    child = program(tmp_path, "talker", "print('new')")
    child.log.write_text("old and long\n")

    child.start()
    wait_until(lambda: child.exit_status() is not None)

    assert child.log.read_text() == "new\n"
    assert (tmp_path / "talker.log.1").read_text() == "old and long\n"
    assert child.last_words() == "new"


def test_orphans_are_ended_and_strangers_with_their_number_are_not(tmp_path: Path) -> None:
    orphan, stranger = program(tmp_path, "orphan", SLEEP), program(tmp_path, "stranger", SLEEP)
    orphan.start()
    stranger.start()
    assert orphan.record is not None
    assert stranger.record is not None
    reused = stranger.record.model_copy(update={"mark": "another boot/1"})

    ended = end_orphans([orphan.record, reused])

    assert ended == (orphan.record,)
    assert not orphan.is_running()
    assert stranger.is_running()
    stranger.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="cores are divided on Linux alone")
def test_a_process_and_what_it_starts_have_the_cores_that_they_were_given(recorder: Recorder, tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time; print(sorted(os.sched_getaffinity(0)), flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'import os; print(sorted(os.sched_getaffinity(0)), flush=True)'])\n"
        "print('done', flush=True); time.sleep(60)"
    )
    core = min(core_numbers())
    child = SupervisedChild(replace(program(tmp_path, "confined", code).spec, cores=(core,)), tmp_path)

    recorder.supervisor.start([child])

    wait_until(lambda: "done" in child.log.read_text())
    assert child.log.read_text().split("\n")[:2] == [f"[{core}]", f"[{core}]"]
