"""Background work that lasts as long as its process: after an unexpected end it is logged and started again.

While it is down, `tasks_down` names it. `/readyz` of the API and the report of a worker show these names.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from storage.runtime.observability.metrics import counter, gauge

logger = logging.getLogger(__name__)

RESTART_PAUSE_S = 1.0
"""How long a task stays down before it is started again."""

_DOWN = gauge("rhapsode_background_tasks_down")
_FAILURES = counter("rhapsode_background_task_failures")

_lock = threading.Lock()
_names_down: Counter[str] = Counter()


def tasks_down() -> tuple[str, ...]:
    """Names of the watched tasks of this process that do not run now. Any thread may ask."""
    with _lock:
        return tuple(sorted(name for name, number in _names_down.items() if number))


def watched_task(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
    """A started task that ends only when it is cancelled. run: called again after each other end."""
    _register(name)
    return asyncio.create_task(_kept_running(name, run), name=name)


def watched_thread(name: str, run: Callable[[], None], stop: threading.Event) -> threading.Thread:
    """A thread, not started yet. run: returns once `stop` is set, and is called again after each other end."""
    _register(name)
    return threading.Thread(target=_kept_running_in_thread, args=(name, run, stop), name=name, daemon=True)


async def _kept_running(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        error: BaseException | None = None
        try:
            await run()
        except asyncio.CancelledError as cancelled:
            if _is_cancelled():
                raise
            # It waited for something that another task has cancelled.
            error = cancelled
        except Exception as unexpected:  # noqa: BLE001 - logged below
            error = unexpected
        _log_end(name, error)
        if _is_cancelled():
            # The error came in place of the cancellation.
            return
        with _down(name):
            await asyncio.sleep(RESTART_PAUSE_S)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _kept_running_in_thread(name: str, run: Callable[[], None], stop: threading.Event) -> None:
    while True:
        error: BaseException | None = None
        try:
            run()
        except BaseException as unexpected:  # noqa: BLE001 - logged below; a thread ends silently with `SystemExit`
            error = unexpected
        if error is not None or not stop.is_set():
            _log_end(name, error)
        if stop.is_set():
            return
        with _down(name):
            # After an order to stop it runs once more: it may have something to finish.
            stop.wait(RESTART_PAUSE_S)


def _register(name: str) -> None:
    """Both metrics are there before the first failure."""
    _DOWN.labels(name)
    _FAILURES.labels(name)


def _log_end(name: str, error: BaseException | None) -> None:
    _FAILURES.labels(name).inc()
    logger.error("a background task ended unexpectedly", extra={"task": name}, exc_info=error)


@contextmanager
def _down(name: str) -> Generator[None]:
    _count(name, 1)
    try:
        yield
    finally:
        _count(name, -1)


def _count(name: str, number: int) -> None:
    with _lock:
        _names_down[name] += number
    _DOWN.labels(name).inc(number)
