"""What `make test` runs: all tests in several processes, then alone once more what has failed.

A test that passes then is flaky, which is printed and fails nothing. The whole run has a time limit; a run that does
not end in time says what it was doing. The last line is `tests: N passed, N failed, N skipped, N flaky`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from textwrap import indent
from types import FrameType
from typing import NamedTuple

from tests.process_tree import children_of, described_below
from tests.tools.run_report import OPTION, Outcomes, Process, outcomes_in, processes_in, stacks_in

LIMIT_S = 60 * 60.0
"""A machine with cores of half the usual speed takes 33 minutes."""

MOST_RUN_AGAIN = 10
"""With more failures, something is broken, not flaky."""

SUMMARY_S = 60.0
"""Within which pytest ends after an interrupt."""

STACKS_S = 5.0
"""Within which a process writes its stacks."""


class Run(NamedTuple):
    """complaint: why the outcomes are not the whole truth, if they are not."""

    outcomes: Outcomes
    complaint: str | None


class Stopped(Exception):
    """The runner itself is to end."""


def main(num_processes: int, limit_s: float = LIMIT_S) -> int:
    signal.signal(signal.SIGTERM, _stop)
    deadline = time.monotonic() + limit_s
    with tempfile.TemporaryDirectory() as folder:
        together = ["-n", str(num_processes), "--dist", "worksteal", "--durations=40"]
        first = _run_pytest(together, Path(folder, "first"), deadline)
        flaky = _passing_alone(first, Path(folder, "again"), deadline)
    outcomes, failed = first.outcomes, first.outcomes.failed.keys() - flaky
    print(
        f"\ntests: {len(outcomes.passed)} passed, {len(failed)} failed, "
        f"{len(outcomes.skipped)} skipped, {len(flaky)} flaky",
        flush=True,
    )
    return 1 if failed or first.complaint else 0


def _passing_alone(first: Run, folder: Path, deadline: float) -> set[str]:
    failed = first.outcomes.failed
    if not failed or first.complaint:
        return set()
    if len(failed) > MOST_RUN_AGAIN:
        print(f"\n{len(failed)} tests have failed: more than {MOST_RUN_AGAIN} are not run again.")
        return set()
    print(f"\nRunning again, alone, what has failed: {len(failed)}", flush=True)
    listed = folder.with_suffix(".txt")
    # pytest writes node ids with escapes: none holds the end of a line.
    listed.write_text("".join(f"{test}\n" for test in failed))
    again = _run_pytest([f"@{listed}"], folder, deadline)
    flaky = set() if again.complaint else failed.keys() & again.outcomes.passed
    print()
    for test, text in failed.items():
        if test in flaky:
            print(f"flaky: {test}\n{indent(text, '    ')}")
        else:
            print(f"failed {'twice' if test in again.outcomes.failed else 'and did not pass alone'}: {test}")
    return flaky


def _run_pytest(arguments: list[str], folder: Path, deadline: float) -> Run:
    folder.mkdir()
    command = [sys.executable, "-m", "pytest", "-p", "tests.tools.run_report", f"{OPTION}={folder}", *arguments]
    process = subprocess.Popen(command)
    complaint = _wait(process, folder, deadline)
    outcomes = outcomes_in(folder)
    if complaint is None and process.returncode != bool(outcomes.failed):
        complaint = f"pytest ended with status {process.returncode}, and {len(outcomes.failed)} tests have failed"
    if complaint:
        print(f"\nerror: {complaint}")
        for running in processes_in(folder):
            if running.test is not None:
                outcomes.failed.setdefault(running.test, "it was running when the run ended")
                print(f"error: {running.name} was running {running.test}")
    return Run(outcomes, complaint)


def _wait(process: subprocess.Popen[bytes], folder: Path, deadline: float) -> str | None:
    """What ended the wait, other than the end of the process."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except KeyboardInterrupt:
        # The terminal has interrupted pytest, too.
        return _end(process, folder, "the run was interrupted", SUMMARY_S)
    except Stopped:
        return _end(process, folder, "the run was stopped by SIGTERM")
    except subprocess.TimeoutExpired:
        return _end(process, folder, "the run has reached its time limit")
    return None


def _end(process: subprocess.Popen[bytes], folder: Path, why: str, patience_s: float = 0.0) -> str:
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        print(f"\n{why}: these are its processes", flush=True)
        started = {process.pid, *children_of(process.pid)}
        _print_stacks(folder, [each for each in processes_in(folder) if each.pid in started])
        _kill(process)
    return why


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With its workers. The guard of each worker's run ends what that has started: tests/run_guard.py."""
    # So that it starts no worker that the look below misses.
    process.send_signal(signal.SIGSTOP)
    for pid in (*children_of(process.pid), process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _print_stacks(folder: Path, processes: Iterable[Process]) -> None:
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGUSR1)
    time.sleep(STACKS_S)
    for each in processes:
        print(f"\n{each.name}, process {each.pid}, runs {each.test or 'no test'}\n{stacks_in(folder, each)}")
        print(f"Processes below it:\n{described_below(each.pid)}", flush=True)


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
