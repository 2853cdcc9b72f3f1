"""A program between what a process says and its log, for a process whose lines are not like ours.

Neither can harm the other. The process writes into a pipe that never makes it wait: a writer that stands still costs
lines, no more. The supervisor keeps the reading end of the pipe open. A killed writer is replaced, and only its
unwritten lines are lost. The process notices nothing. When the supervisor is killed, the writer goes on to the last
word.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

REPLACED_AFTER_S = 0.5
"""Since its start, so that a writer that cannot start takes no core."""

LAST_WORDS_S = 5.0


class LogWriter:
    """Started at once.

    command: reads what the process says, to its end, and writes the log to standard output.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._output, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._start()

    @contextmanager
    def input(self) -> Generator[int]:
        """For the process as its output. Open once: what the process alone holds ends with it."""
        try:
            yield self._input
        finally:
            os.close(self._input)

    def mend(self) -> None:
        """Replace the writer if it has died."""
        if self._has_died() and time.monotonic() - self._started_s > REPLACED_AFTER_S:
            self._start()

    def finish(self) -> None:
        """Call when the process and all it had started are gone: returns when their last words are in the log."""
        if self._has_died():
            self._start()
        os.close(self._output)
        try:
            self._process.wait(LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _has_died(self) -> bool:
        """And did not just come to the end of what was said."""
        return self._process.poll() not in (None, 0)

    def _start(self) -> None:
        with self._log.open("ab") as log:
            # In a separate session: it outlives Ctrl-C and the process.
            self._process = subprocess.Popen(
                self._command, stdin=self._output, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._started_s = time.monotonic()
