"""How far calls have come that say nothing while they run: the processor's time of the threads that make them.

A call of the model takes seconds, on a busy machine more than the watchdog waits. A thread that computes uses time; one
that hangs uses none.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

STEP_S = 0.01


class ThreadClock:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clocks: set[int] = set()
        self._ended_s = 0.0

    @contextmanager
    def of_this_thread(self) -> Generator[None]:
        """Count the time that it uses meanwhile."""
        if sys.platform != "linux":  # other systems tell the time of the whole process alone
            yield
            return
        clock = time.pthread_getcpuclockid(threading.get_ident())
        with self._lock:
            self._clocks.add(clock)
        try:
            yield
        finally:
            with self._lock:
                self._clocks.remove(clock)
                self._ended_s += time.clock_gettime(clock)

    def steps(self) -> int:
        """Never falls; grows by one for every 10 ms of processor time."""
        if sys.platform != "linux":
            return int(time.process_time() / STEP_S)
        with self._lock:
            return int((self._ended_s + sum(map(time.clock_gettime, self._clocks))) / STEP_S)
