"""A worker process tied to Celery's life.

Celery's threads pool announces itself by `worker_init` (there are no child processes to initialise). On SIGTERM or
SIGINT, Celery stops consuming and waits for the running tasks; `worker_shutting_down` tells us first.
"""

from __future__ import annotations

import logging
import threading
import warnings
from typing import Protocol

from celery import Celery, signals
from celery.apps import worker as celery_worker
from celery.platforms import EX_OK, SecurityWarning
from celery.worker import state
from celery.worker.consumer import Consumer

from storage.ids import WorkQueue
from storage.queue.celery_queue import TICKET_TASK

logger = logging.getLogger(__name__)

# Celery warns root about pickled messages. Ours are JSON without arguments, and the advice (--uid, C_FORCE_ROOT)
# would only puzzle who runs this in a container.
warnings.filterwarnings("ignore", category=SecurityWarning)


class TicketProcess(Protocol):
    """What every lane's process can do."""

    def start(self) -> None: ...

    def run_ticket(self) -> None: ...

    def begin_shutdown(self) -> None: ...

    def stop(self) -> None: ...

    def consumes(self, consumption: TicketConsumption) -> None:
        """Tickets are being taken from now on. Called once."""
        ...


class TicketConsumption:
    """Whether this process takes tickets from its broker. Any thread may call; it happens soon, in Celery's own."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    @property
    def places(self) -> int:
        """Tickets that this process runs at the same time."""
        pool = self._consumer.pool
        if pool is None:
            raise RuntimeError("asked before tickets are taken")
        return int(pool.num_processes)

    def pause(self, queue: WorkQueue) -> None:
        self._consumer.call_soon(self._consumer.cancel_task_queue, queue)

    def resume(self, queue: WorkQueue) -> None:
        self._consumer.call_soon(self._consumer.add_task_queue, queue)

    def end(self) -> None:
        """The worker leaves as on SIGTERM, but that `begin_shutdown` is the caller's."""
        state.should_stop = EX_OK


def connect(app: Celery, process: TicketProcess) -> None:
    """`process` starts and ends with Celery and answers the tickets of its queue. A ticket does not name its item."""

    def on_logging(**_: object) -> None:
        """A listener to this signal keeps Celery from setting up logs its own way."""

    def on_init(**_: object) -> None:
        try:
            process.start()
        except Exception as error:
            # Celery would log it and take tickets for which there is no worker.
            logger.exception("the worker cannot start")
            raise SystemExit(f"the worker cannot start: {error!r}") from error

    def on_ready(sender: Consumer, **_: object) -> None:
        process.consumes(TicketConsumption(sender))

    def on_shutting_down(**_: object) -> None:
        process.begin_shutdown()

    def on_shutdown(**_: object) -> None:
        process.stop()

    app.task(process.run_ticket, name=TICKET_TASK, ignore_result=True)
    log_celery_words()
    # Strong references: these closures live as long as the process.
    signals.setup_logging.connect(on_logging, weak=False)
    signals.worker_init.connect(on_init, weak=False)
    signals.worker_ready.connect(on_ready, weak=False)
    signals.worker_shutting_down.connect(on_shutting_down, weak=False)
    signals.worker_shutdown.connect(on_shutdown, weak=False)


def log_celery_words() -> None:
    """What Celery writes past all logs, from its signal handlers, as lines of the log like any other.

    Call once, before Celery sets up its signals.
    """
    celery_worker.safe_say = _said


def _said(message: object, _file: object = None) -> None:
    """In a signal handler, where a thread that was interrupted may hold the lock of the log: another one writes."""
    threading.Thread(target=_log, args=(str(message).strip(),), name="celery-words").start()


def _log(words: str) -> None:
    logger.info("celery says", extra={"words": words})
