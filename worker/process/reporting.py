"""A worker process tells the worker registry every two seconds what it does, and learns whether it shall claim
nothing.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version

from storage.errors import StoreUnavailable
from storage.queue.worker_registry import REPORT_INTERVAL_S, WorkerRegistry, WorkerReport, WorkerRole
from storage.runtime.observability.metrics import PROCESS_INFO
from storage.runtime.watched import tasks_down
from worker.process.periodic import Periodic

logger = logging.getLogger(__name__)

VERSION = version("rhapsode")


ReadLoad = Callable[[WorkerReport], WorkerReport]
"""The report of an idle process, completed with what it does at the moment."""


def _as_idle(report: WorkerReport) -> WorkerReport:
    return report


class Reporting:
    """`begin` before the first ticket, `close` after the last. Any thread may look at `draining`.

    on_change: called by the reporting thread, or by `begin`, when `draining` changed.
    """

    def __init__(
        self,
        worker_registry: WorkerRegistry,
        name: str,
        role: WorkerRole,
        queue: str | None = None,
        model: str | None = None,
        other_models: tuple[str, ...] = (),
    ) -> None:
        self.draining = threading.Event()
        self.on_change: Callable[[], None] = lambda: None
        self._worker_registry = worker_registry
        self._idle = WorkerReport(
            name=name,
            role=role,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=VERSION,
            started_at_ms=round(time.time() * 1000),
            leases=0,
            queue=queue,
            model=model,
            other_models=other_models,
        )
        self._read_load: ReadLoad = _as_idle
        self._has_begun = False
        self._rounds = Periodic("worker_registry", REPORT_INTERVAL_S, self.report_now)

    def begin(self, read_load: ReadLoad = _as_idle) -> None:
        """A first word, and then one every two seconds. Without Redis the first one comes later.

        Called again, `read_load` is asked from then on.
        """
        self._read_load = read_load
        PROCESS_INFO.labels(self._idle.role.value, self._idle.name, VERSION).set(1)
        try:
            self.report_now()
        except StoreUnavailable as error:
            logger.warning("not on the worker registry yet", extra={"error": str(error)})
        if not self._has_begun:
            self._has_begun = True
            self._rounds.start()

    def close(self) -> None:
        """Idempotent; leaves the worker registry, or is forgotten there in a minute."""
        self._rounds.close()
        try:
            self._worker_registry.leave(self._idle.name)
        except StoreUnavailable as error:
            logger.warning("not taken off the worker registry", extra={"error": str(error)})

    def report_now(self) -> None:
        """Raises `StoreUnavailable`."""
        idle = replace(self._idle, claims_nothing=self.draining.is_set())  # before the leases are counted
        report = replace(self._read_load(idle), pid=os.getpid(), tasks_down=tasks_down())
        self._follow(is_wished=self._worker_registry.report(report))

    def _follow(self, *, is_wished: bool) -> None:
        if is_wished == self.draining.is_set():
            return
        if is_wished:
            self.draining.set()
        else:
            self.draining.clear()
        logger.info("draining" if is_wished else "claiming again", extra={"worker": self._idle.name})
        self.on_change()
