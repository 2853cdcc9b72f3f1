"""What Valkey and the S3 server say, read as the supervisor has it read."""

from __future__ import annotations

import fcntl
import json
import resource
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from rhapsode.stack import foreign_lines
from rhapsode.stack.foreign_lines import MOST_LINE_BYTES

READER = [sys.executable, "-I", "-S", foreign_lines.__file__]


def events(name: str, said: bytes) -> list[dict[str, Any]]:
    outcome = subprocess.run([*READER, name], input=said, capture_output=True, check=True, timeout=60)
    assert outcome.stderr == b""
    return [json.loads(line) for line in outcome.stdout.split(b"\n")[:-1]]


def test_a_line_of_valkey_keeps_its_time_its_level_and_who_said_it() -> None:
    (event,) = events("valkey", b"4711:M 09 Feb 2027 03:04:05.678 # WARNING: 100% \xe2\x9c\x93\n")

    assert event == {
        "event": "WARNING: 100% ✓",
        "role": "valkey",
        "logger": "valkey",
        "level": "warning",
        "pid": 4711,
        "timestamp": "2027-02-09T03:04:05.678000Z",
    }


@pytest.mark.parametrize(("mark", "level"), [(".", "debug"), ("-", "debug"), ("*", "info"), ("#", "warning")])
def test_valkeys_marks_are_levels(mark: str, level: str) -> None:
    (event,) = events("valkey", f"1:C 31 Dec 2026 23:59:59.999 {mark} said\n".encode())

    assert (event["level"], event["event"]) == (level, "said")


def test_what_stops_valkeys_start_and_the_report_of_its_crash_have_no_head_and_are_errors() -> None:
    said = b"*** FATAL CONFIG FILE ERROR (Valkey 9) ***\n>>> 'appendonly \"maybe\"'\n\n  \r\nargument must be yes or no"

    told = events("valkey", said)

    assert [event["event"] for event in told] == [
        "*** FATAL CONFIG FILE ERROR (Valkey 9) ***",
        ">>> 'appendonly \"maybe\"'",
        "argument must be yes or no",
    ]
    assert {event["level"] for event in told} == {"error"}
    assert all(event["timestamp"].endswith("Z") for event in told)


def test_any_bytes_become_lines_of_bounded_length() -> None:
    said = bytes(range(256)).replace(b"\n", b"") + b"\n" + b"x" * (3 * MOST_LINE_BYTES) + "\u2028.".encode()

    told = events("valkey", said)

    assert len(told) == 5
    assert sum(event["event"].count("x") for event in told[1:]) == 3 * MOST_LINE_BYTES


def test_a_full_disk_costs_lines_and_their_number_is_told(tmp_path: Path) -> None:
    log = tmp_path / "valkey.log"
    with log.open("wb") as output:
        reader = subprocess.Popen([*READER, "valkey"], stdin=subprocess.PIPE, stdout=output, bufsize=0)
    with reader:
        _, most = resource.prlimit(reader.pid, resource.RLIMIT_FSIZE)
        say(reader, "there is room")
        wait_until(lambda: log.stat().st_size > 0)
        resource.prlimit(reader.pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 10, most))
        for word in ("none", "of", "this", "last"):
            say(reader, word)
        resource.prlimit(reader.pid, resource.RLIMIT_FSIZE, (most, most))
        say(reader, "there is room again")

    assert reader.returncode == 0
    first, _torn, *rest = log.read_text().split("\n")[:-1]
    lost, *heard = [json.loads(line) for line in rest]
    assert json.loads(first)["event"] == "there is room"
    assert (lost["event"], lost["level"]) == ("lines were lost", "error")
    # The last one may be on its way when there is room.
    assert lost["lines"] in (3, 4)
    assert [event["event"] for event in heard] == ["last", "there is room again"][lost["lines"] - 3 :]


def say(reader: subprocess.Popen[bytes], word: str) -> None:
    """Returns when the line is out of the pipe, and so the one before it wherever it went."""
    assert reader.stdin is not None
    reader.stdin.write(f"{word}\n".encode())
    wait_until(partial(is_empty, reader.stdin))


def is_empty(pipe: IO[bytes]) -> bool:
    waiting = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return not any(waiting)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
