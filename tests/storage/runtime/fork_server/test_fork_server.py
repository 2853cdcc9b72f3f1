"""Children of a fork server: each alone with its file, none of them longer than its caller waits for it."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.audio.recordings import DECODERS
from storage.runtime.fork_server.client import ChildEnd, ForkServer
from storage.runtime.fork_server.limits import MOST_DESCRIPTORS
from storage.runtime.fork_server.protocol import ChildOrder, ConnectionEnded, receive_order, send_order
from storage.runtime.fork_server.server_process import ForkServerBroken
from tests.process_tree import children_of, is_alive
from tests.property_tests import examples
from tests.storage.runtime.fork_server.programs import PRELUDE, ask, fork_server_of
from tests.threads import BoundedExecutor
from worker.planning.drafting.process import DRAFTERS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

STATE_S = 60.0
"""For what comes about by itself, however busy the machine is."""

TASKS = """
seen.append(len(seen))
match arguments[0]:
    case 'echo':
        sys.stdout.write(sys.stdin.read())
    case 'hang':
        signal.pause()
    case 'found':
        descriptors = []
        for descriptor in range(1_024):
            try:
                os.fstat(descriptor)
                descriptors.append(descriptor)
            except OSError:
                pass
        say({'descriptors': descriptors, 'seen': seen, 'threads': threading.active_count(), 'names': [*os.environ]})
    case 'signal':
        os.kill(os.getpid(), int(arguments[1]))
    case 'memory':
        try:
            bytearray(2 << 30)
        except MemoryError:
            say('refused')
    case 'write':
        sys.stdout.write('x' * (2 << 20))
    case 'fail':
        raise ValueError('no good')
"""


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with fork_server_of(TASKS, "seen = []") as made:
        yield made


def wait_until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + STATE_S
    while not holds():
        assert time.monotonic() < until_s, "it never came about"
        os.sched_yield()


def test_a_child_has_few_descriptors_to_close_however_many_the_system_allows(fork_server: ForkServer) -> None:
    ask(fork_server, "echo")
    assert fork_server.pid is not None

    most, _ = resource.prlimit(fork_server.pid, resource.RLIMIT_NOFILE)

    assert most <= MOST_DESCRIPTORS


def test_a_child_holds_three_descriptors_and_nothing_of_others(
    fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RHAPSODE_URL_SECRET", "between us")
    with fork_server_of(TASKS, "seen = []") as fresh:
        for _ in range(2):
            ended = ask(fresh, "found")

            assert ended.status == 0
            found = json.loads(ended.answer)
            assert (found["descriptors"], found["seen"], found["threads"]) == ([0, 1, 2], [0], 1)
            assert not [name for name in found["names"] if name.startswith(("RHAPSODE", "AWS"))]


def test_what_it_inherits_lies_in_no_memory_of_the_process_that_asks(fork_server: ForkServer) -> None:
    ask(fork_server, "echo")

    assert fork_server.pid is not None
    # A program of its own, not a copy of this one.
    assert b"serve(task" in Path(f"/proc/{fork_server.pid}/cmdline").read_bytes()
    assert b"RHAPSODE" not in Path(f"/proc/{fork_server.pid}/environ").read_bytes()


@pytest.mark.parametrize("real", [DECODERS, DRAFTERS], ids=["recordings", "drafts"])
def test_nothing_runs_in_a_fork_server_beside_the_thread_that_forks(real: ForkServer) -> None:
    ask(real, "facts")

    assert len(os.listdir(f"/proc/{real.pid}/task")) == 1
    assert b"RHAPSODE" not in Path(f"/proc/{real.pid}/environ").read_bytes()


def test_many_children_at_once_read_each_its_own_file(fork_server: ForkServer) -> None:
    files = [b"%d" % number for number in range(40)]

    def echo(data: bytes) -> ChildEnd:
        return ask(fork_server, "echo", data=data)

    with BoundedExecutor(8) as pool:
        answers = list(pool.map(echo, files))

    assert answers == [ChildEnd(0, data, "") for data in files]


def test_a_child_is_held_to_its_memory_and_its_output(fork_server: ForkServer) -> None:
    assert ask(fork_server, "memory").answer == b'"refused"'
    assert ask(fork_server, "write").status != 0


def test_a_task_that_fails_says_why(fork_server: ForkServer) -> None:
    ended = ask(fork_server, "fail")

    assert ended.status == 1
    assert ended.complaints.endswith("ValueError: no good")


def test_a_child_that_crashes_takes_its_fork_server_along_and_one_at_its_limit_does_not(
    fork_server: ForkServer,
) -> None:
    ask(fork_server, "echo")
    before = fork_server.pid

    assert ask(fork_server, "signal", str(int(signal.SIGXCPU))).status == -signal.SIGXCPU
    assert fork_server.pid == before

    assert ask(fork_server, "signal", str(int(signal.SIGSEGV))).status == -signal.SIGSEGV
    assert ask(fork_server, "echo", data=b"still here").answer == b"still here"
    assert fork_server.pid not in (None, before)


def test_a_crash_leaves_the_siblings_alone(fork_server: ForkServer) -> None:
    ask(fork_server, "echo")
    first = fork_server.pid
    assert first is not None
    crashed: list[int] = []

    def crash_once() -> None:
        for sibling in children_of(first) if not crashed else []:
            crashed.append(ask(fork_server, "signal", str(int(signal.SIGSEGV))).status)
            assert fork_server.pid != first
            assert is_alive(sibling)
            os.kill(sibling, signal.SIGTERM)

    ended = ask(fork_server, "hang", check=crash_once)

    assert (crashed, ended.status) == ([-signal.SIGSEGV], -signal.SIGTERM)
    wait_until(lambda: not is_alive(first))


def test_a_child_ends_with_its_readers_patience(fork_server: ForkServer) -> None:
    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        ask(fork_server, "hang", check=give_up)
    with pytest.raises(TimeoutError):
        ask(fork_server, "hang", patience_s=0.25)

    pid = fork_server.pid
    assert pid is not None
    wait_until(lambda: children_of(pid) == [])


def test_a_fork_server_that_was_killed_is_started_again(fork_server: ForkServer) -> None:
    ask(fork_server, "echo")
    killed = fork_server.pid
    assert killed is not None

    os.kill(killed, signal.SIGKILL)

    assert ask(fork_server, "echo", data=b"as before") == ChildEnd(0, b"as before", "")
    assert fork_server.pid not in (None, killed)


def test_a_file_whose_fork_server_is_killed_goes_to_another_once(fork_server: ForkServer) -> None:
    children: list[int] = []

    def kill() -> None:
        if (pid := fork_server.pid) is not None and (found := children_of(pid)):
            children.extend(found)
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(ForkServerBroken, match="died twice"):
        ask(fork_server, "hang", check=kill)

    assert len(children) == 2
    for child in children:
        wait_until(lambda child=child: not is_alive(child))


def test_nothing_outlives_the_process_that_asked() -> None:
    program = """
import sys, tempfile
from storage.runtime.fork_server.client import ChildTask, ForkServer
fork_server = ForkServer(tuple(sys.argv[1:]))
def look():
    print(fork_server.pid, flush=True)
    sys.stdin.read()
with tempfile.TemporaryFile() as file:
    fork_server.run(ChildTask((), file, 100, 60.0, look))
"""
    hang = f"{PRELUDE}\ndef task(_):\n  signal.pause()\nserve(task, ChildLimits(1 << 30, 5, 1 << 20))"
    command = [sys.executable, "-c", program, sys.executable, "-I", "-B", "-c", hang]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asking:
        assert asking.stdout is not None
        fork_server = int(asking.stdout.readline())
        children = children_of(fork_server)
        asking.kill()

    assert len(children) == 1
    for pid in (fork_server, *children):
        wait_until(lambda pid=pid: not is_alive(pid))


def test_a_program_that_does_not_start_says_why() -> None:
    with ForkServer((sys.executable, "-I", "-c", "import soundfiles")) as broken:
        for _ in range(2):
            with pytest.raises(ForkServerBroken, match="No module named 'soundfiles'"):
                ask(broken)

        assert broken.pid is None


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.text(max_size=50), max_size=20).map(tuple))
def test_orders_arrive_as_they_were_sent(arguments: tuple[str, ...]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        descriptor = ours.fileno()

        send_order(ours, ChildOrder(arguments, descriptor, descriptor, descriptor, descriptor))
        order = receive_order(theirs)

        assert order.arguments == arguments
        assert {os.fstat(each).st_ino for each in order.descriptors} == {os.fstat(descriptor).st_ino}
        for each in order.descriptors:
            os.close(each)
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionEnded):
            receive_order(theirs)
