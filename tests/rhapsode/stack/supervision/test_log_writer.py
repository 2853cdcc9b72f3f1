"""A process whose log another program writes: what becomes of its lines, and of itself, when that one is in trouble."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from rhapsode.stack.errors import StackStartFailed
from rhapsode.stack.events import ProcessEnded
from rhapsode.stack.supervision.child import SupervisedChild
from tests.process_tree import children_of, is_alive
from tests.rhapsode.stack.supervision.test_supervisor import Recorder, program, recorder, wait_until

__all__ = ["recorder"]

WRITER = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    sys.stdout.write(json.dumps({'event': line.rstrip()}) + '\\n')\n"
    "    sys.stdout.flush()\n"
)
TALKER = (
    "import pathlib, sys, time\n"
    "for number in range(100_000):\n"
    "    print('line', number, flush=True)\n"
    "    while not pathlib.Path(f'go{number // 2}').exists():\n"
    "        time.sleep(0.01)\n"
)
LOUD = (
    "import os, time\n"
    "refused = 0\n"
    "for _ in range(4000):\n"
    "    try:\n"
    "        os.write(1, b'x' * 99 + b'\\n')\n"
    "    except BlockingIOError:\n"
    "        refused += 1\n"
    "open('refused', 'w').write(str(refused))\n"
    "time.sleep(60)\n"
)


def with_writer(child: SupervisedChild, writer: str = WRITER) -> SupervisedChild:
    return SupervisedChild(replace(child.spec, log_writer=(sys.executable, "-c", writer)), child.log.parent)


def writer_of() -> int:
    (pid,) = (pid for pid in children_of(os.getpid()) if WRITER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes())
    return pid


def is_told(child: SupervisedChild, words: str) -> bool:
    return words in child.log.read_text()


def is_gone(pid: int) -> bool:
    return not is_alive(pid)


def test_a_killed_writer_is_replaced_and_no_line_is_lost(recorder: Recorder, tmp_path: Path) -> None:
    child = with_writer(program(tmp_path, "talker", TALKER))
    recorder.supervisor.start([child])
    wait_until(partial(is_told, child, "line 0"))

    for number in range(3):
        killed = writer_of()
        os.kill(killed, signal.SIGKILL)
        # Until it is gone it may still take what comes.
        wait_until(partial(is_gone, killed))
        (tmp_path / f"go{number}").touch()
        wait_until(partial(is_told, child, f"line {2 * number + 2}"), recorder.supervisor.watch)

    told = (tmp_path / "talker.log").read_text().splitlines()
    assert told == [f'{{"event": "line {number}"}}' for number in range(7)]
    assert recorder.events == []


def test_a_writer_that_stands_still_costs_lines_and_not_the_process(recorder: Recorder, tmp_path: Path) -> None:
    silent = "import time; time.sleep(600)"
    child = with_writer(program(tmp_path, "loud", LOUD), silent)

    recorder.supervisor.start([child])

    wait_until((tmp_path / "refused").exists, recorder.supervisor.watch)
    wait_until(lambda: int((tmp_path / "refused").read_text() or 0) > 1000)
    assert child.is_running()


def test_the_last_words_are_in_the_log_before_anybody_asks(recorder: Recorder, tmp_path: Path) -> None:
    late = f"import time; time.sleep(0.5)\n{WRITER}"
    child = with_writer(program(tmp_path, "broken", "raise SystemExit('no such data')"), late)
    recorder.supervisor.start([child])

    with pytest.raises(StackStartFailed, match=r"broken ended with status 1 while starting: no such data \(log"):
        wait_until(lambda: False, recorder.supervisor.watch_start)


def test_the_writer_ends_with_what_it_writes_of(recorder: Recorder, tmp_path: Path) -> None:
    child = with_writer(program(tmp_path, "talker", TALKER))
    recorder.supervisor.start([child])
    wait_until(partial(is_told, child, "line 0"))
    first = writer_of()

    os.kill(recorder.records[0].pid, signal.SIGKILL)
    wait_until(lambda: any(isinstance(event, ProcessEnded) for event in recorder.events), recorder.supervisor.watch)
    assert not is_alive(first)
    wait_until(lambda: bool(recorder.records) and child.is_running(), recorder.supervisor.watch)
    second = writer_of()
    recorder.supervisor.stop([["talker"]], lambda: False)

    assert not is_alive(second)
