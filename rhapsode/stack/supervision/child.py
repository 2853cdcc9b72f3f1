"""One process of the stack: how it is started, watched and ended, and when it is started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from rhapsode.stack.process_identity import start_mark
from rhapsode.stack.state_file import ProcessRecord
from rhapsode.stack.supervision import launcher

FIRST_RESTART_S = 0.5
LONGEST_RESTART_S = 4.0
"""Jobs wait while a process is away, so a longer pause costs more than the tries of a process that cannot start."""
HEALTHY_S = 10.0
"""A process that ran this long had come up: its next failure counts as the first. Longer, and an accident every
half minute would be answered like a process that cannot start."""

MAX_LOG_BYTES = 16 * 1024 * 1024
LOG_TAIL_BYTES = 8192


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """command: absolute program first. environment: all of it. grace_s: between SIGTERM and SIGKILL.

    cores: those it may run on, with all that it starts; none: all.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    working_dir: Path
    grace_s: float
    inherited_fds: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()


class SupervisedChild:
    """Not thread-safe: the supervisor's thread owns it, see `launcher`.

    logs: the folder of its log; None: it writes where this process does.
    """

    def __init__(self, spec: ProcessSpec, logs: Path | None) -> None:
        self.spec = spec
        self.log = Path("standard output") if logs is None else logs / f"{spec.name}.log"
        self._has_log = logs is not None
        self.failures = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.record: ProcessRecord | None = None
        self._started_s = 0.0
        self._log_start = 0
        self._due_s = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process in a separate session: only the supervisor gets Ctrl-C."""
        self._log_start = _rotate(self.log) if self._has_log else 0
        with self.log.open("ab") if self._has_log else nullcontext() as output:
            self._process = subprocess.Popen(
                [*_launcher(self.spec), *self.spec.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                env=dict(self.spec.environment),
                cwd=self.spec.working_dir,
                start_new_session=True,
                pass_fds=self.spec.inherited_fds,
            )
        self._started_s = time.monotonic()
        mark = start_mark(self._process.pid)
        self.record = ProcessRecord(name=self.spec.name, pid=self._process.pid, mark=mark) if mark else None

    def exit_status(self) -> int | None:
        """The status of a process that has ended since the last look, which schedules its restart; else None."""
        if self._process is None or (status := self._process.poll()) is None:
            return None
        # What it started is in its session; nothing of it may hold a lease or the model's memory any longer.
        self._signal_group(signal.SIGKILL)
        self._process, self.record = None, None
        healthy = time.monotonic() - self._started_s >= HEALTHY_S
        self.failures = 1 if healthy else self.failures + 1
        self._due_s = time.monotonic() + self.restart_delay_s()
        return status

    def restart_delay_s(self) -> float:
        return min(FIRST_RESTART_S * 2 ** (self.failures - 1), LONGEST_RESTART_S)

    def is_due(self) -> bool:
        return self._process is None and time.monotonic() >= self._due_s

    def terminate(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """SIGKILL to the process and all it started; returns when it is gone."""
        if self._process is None:
            return
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        self._process, self.record = None, None

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def last_words(self) -> str:
        """The last line that this start wrote to the log: of a program that gives up, its reason."""
        if not (self._has_log and self.log.exists()):
            return ""
        with self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - LOG_TAIL_BYTES))
            said = log.read().decode(errors="replace").split("\n")
        return next((_told(line.strip()) for line in reversed(said) if line.strip()), "")

    def _signal_group(self, signum: signal.Signals) -> None:
        if self._process is not None:
            # The group is empty when the process was the last of it.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signum)


def _told(line: str) -> str:
    """Of an event in JSON what it says and, if it names one, the error; any other line as it is."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or "event" not in event:
        return line
    return ": ".join(str(event[name]) for name in ("event", "error") if name in event)


def _launcher(spec: ProcessSpec) -> tuple[str, ...]:
    """Isolated and without site packages: it starts in 15 ms."""
    wishes = (str(os.getpid()), str(int(signal.SIGTERM)), ",".join(map(str, spec.cores)))
    return (sys.executable, "-I", "-S", launcher.__file__, *wishes)


def _rotate(log: Path) -> int:
    """Keep one full predecessor; returns where the next start will write."""
    size = log.stat().st_size if log.exists() else 0
    if size < MAX_LOG_BYTES:
        return size
    log.replace(log.with_suffix(".log.1"))
    return 0
