"""Rejected messages, logged once a second at most: a flood of the broker must not flood the log."""

from __future__ import annotations

import logging
import threading

logger = logging.getLogger(__name__)

INTERVAL_S = 1.0


class RefusalCount:
    """Safe to share between threads."""

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._number = 0

    def add(self, number: int) -> None:
        """The line comes an interval after the first."""
        with self._lock:
            is_first = self._number == 0 and number > 0
            self._number += number
        if is_first:
            timer = threading.Timer(self._interval_s, self._tell)
            timer.daemon = True
            timer.start()

    def _tell(self) -> None:
        with self._lock:
            number, self._number = self._number, 0
        logger.warning("refused what is no ticket", extra={"messages": number})
