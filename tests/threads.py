"""Threads of tests, whose end is waited for within a limit.

pytest-timeout raises once, in the main thread. What then waits for a thread without a limit holds up the whole run.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

LIMIT_S = 600.0
"""Longer than a test may take: its own time limit ends this wait first."""

LIMIT_AFTER_FAILURE_S = 30.0
"""Less than `tests.hard_limit` leaves a test after its time limit."""


class BoundedExecutor(ThreadPoolExecutor):
    """A `ThreadPoolExecutor` whose block ends within a limit, also when its threads do not."""

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        # After a failure, nobody wants what has not begun.
        self.shutdown(wait=False, cancel_futures=exc_val is not None)
        _join(tuple(self._threads), exc_val)


def join_in_time(*threads: threading.Thread) -> None:
    """Wait until they have ended, and fail if they do not."""
    _join(threads, sys.exception())


def _join(threads: Iterable[threading.Thread], failure: BaseException | None) -> None:
    deadline = time.monotonic() + (LIMIT_S if failure is None else LIMIT_AFTER_FAILURE_S)
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    running = [thread.name for thread in threads if thread.is_alive()]
    if not running:
        return
    complaint = f"these threads have not ended: {', '.join(running)}"
    if failure is None:
        raise AssertionError(complaint)
    # The failure is what the reader looks for.
    failure.add_note(complaint)
