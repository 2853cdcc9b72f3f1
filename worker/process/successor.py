"""A process that goes on as another: in its place, with its number, its log and its cores, and a fresh memory.

For its supervisor, it has not ended. So a worker that needs another model shuts down as usual, returns its items, and
becomes a worker of that model. It needs no second way of starting, and keeps nothing of the first process.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping

logger = logging.getLogger(__name__)


class Succession:
    """Any thread plans, the main thread becomes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes: Mapping[str, str] | None = None
        self._is_forbidden = False

    def plan(self, changes: Mapping[str, str]) -> None:
        """changes: of the environment, with which this process starts again once it has ended in order."""
        with self._lock:
            self._changes = changes

    def forbid(self) -> None:
        """The supervisor of this process wants it to end."""
        with self._lock:
            self._is_forbidden = True

    def become(self) -> None:
        """Returns if nothing was planned, or it was forbidden. In the main thread, with nothing left to lose."""
        # Ours would note the wish of a supervisor that comes now, and the note would be gone with this memory.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        with self._lock:
            changes = None if self._is_forbidden else self._changes
        if changes is None:
            return
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **changes})  # noqa: S606


SUCCESSION = Succession()
"""Of this process, which has one end."""
