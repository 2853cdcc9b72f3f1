"""A call that a thread repeats every few seconds, until it is closed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from storage.errors import StoreUnavailable
from storage.runtime.watched import watched_thread

logger = logging.getLogger(__name__)


class Periodic:
    """Calls `call` every `interval_s`, first after one interval. After an error it goes on, see `watched_thread`."""

    def __init__(self, name: str, interval_s: float, call: Callable[[], None]) -> None:
        self._name = name
        self._interval_s = interval_s
        self._call = call
        self._closing = threading.Event()
        self._thread = watched_thread(name, self._run, self._closing)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when no call is under way and none will come. Idempotent."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._interval_s):
            try:
                self._call()
            except StoreUnavailable as error:
                logger.warning("store unavailable", extra={"periodic": self._name, "error": str(error)})
