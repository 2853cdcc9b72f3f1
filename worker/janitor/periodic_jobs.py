"""Things to be done every so often, by the process that holds their lock at the time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from storage.errors import StoreUnavailable
from storage.runtime.observability.metrics import counter

logger = logging.getLogger(__name__)

_FAILURES = counter("rhapsode_janitor_chore_failures")

TICK_S = 1.0

AGAIN_S = 5.0
"""After a store did not answer, at most; what is done every few seconds is tried again sooner."""


@dataclass(slots=True)
class Chore:
    """run: a method, by whose name it is known."""

    interval_s: float
    run: Callable[[], object]
    due_at: float = 0.0

    @property
    def name(self) -> str:
        return self.run.__name__


def run_chores(chores: Sequence[Chore], may_work: Callable[[], bool], stop: threading.Event) -> None:
    """Until `stop`: once a second, if we may, whatever is due, in order. What fails is logged and tried again."""
    while not stop.is_set():
        started = time.monotonic()
        if may_work():
            for chore in chores:
                if chore.due_at <= started and not stop.is_set():
                    pause_s = chore.interval_s if _is_over(chore) else min(chore.interval_s / 4, AGAIN_S)
                    # A little early counts as due, or a tick of 1.001 s would skip every other one.
                    chore.due_at = started + pause_s - TICK_S / 2
        stop.wait(max(0.0, started + TICK_S - time.monotonic()))


def _is_over(chore: Chore) -> bool:
    """Do it; False if it is to be tried again soon."""
    try:
        chore.run()
    except StoreUnavailable as error:
        _FAILURES.labels(chore.name).inc()
        logger.warning("chore put off", extra={"chore": chore.name, "error": str(error)})
        return False
    except Exception:
        # The other chores must go on, and so must this one when its cause is gone.
        _FAILURES.labels(chore.name).inc()
        logger.exception("chore failed", extra={"chore": chore.name})
    return True
