"""Notice that this process has stopped taking tickets although there are some.

Celery's consumer can lose its way after a broken connection to Redis and never come back, without an error. The
remedy is a new process, so the watch asks for the end of this one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from storage.ids import WorkQueue
from storage.queue.celery_queue import TicketQueue

logger = logging.getLogger(__name__)

CHECK_INTERVAL_S = 5.0
PATIENCE_S = 60.0

STALLED_EXIT_STATUS = 75
"""The process asks for a restart (EX_TEMPFAIL)."""


def ask_for_restart() -> NoReturn:
    """End at once: the consumer that does not consume would not shut down either. Leases are taken back by name."""
    logging.shutdown()
    os._exit(STALLED_EXIT_STATUS)


class ConsumptionWatch:
    """`seen` at every ticket, `check` every few seconds; calls `on_stall` when nothing idle takes waiting tickets."""

    def __init__(
        self,
        queue: WorkQueue,
        tickets: TicketQueue,
        is_busy: Callable[[], bool],
        on_stall: Callable[[], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._queue = queue
        self._tickets = tickets
        self._is_busy = is_busy
        self._on_stall = on_stall
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._idle_since = time.monotonic()

    def seen(self) -> None:
        """A ticket arrived."""
        with self._lock:
            self._idle_since = time.monotonic()

    def check(self) -> None:
        """Raises `StoreUnavailable`, after which the full wait starts again: a dead broker is not this process's
        fault.
        """
        try:
            is_fine = self._is_busy() or self._tickets.waiting(self._queue) == 0
        except BaseException:
            self.seen()
            raise
        if is_fine:
            self.seen()
            return
        with self._lock:
            silent_s = time.monotonic() - self._idle_since
        if silent_s > self._patience_s:
            logger.critical("tickets wait and none is taken", extra={"queue": self._queue, "silent_s": round(silent_s)})
            self._on_stall()
