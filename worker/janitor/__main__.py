"""The janitor's process: `python -m worker.janitor`."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import uuid
from functools import partial
from types import FrameType

from storage.database.connections import connect_redis, open_artifacts
from storage.database.schema_version import StateUnusable, agree_on_layout
from storage.database.sweep_lock import JanitorLock
from storage.errors import StoreUnavailable
from storage.job_store.store import JobStore
from storage.objects.patience import FOR_CHORES
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.worker_registry import WorkerRegistry, WorkerRole
from storage.recovery.audit_log import AuditLog
from storage.recovery.reconcile import Reconciler
from storage.recovery.state_guard import StateGuard
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.config.settings import describe, load_settings, settings_refused_by
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.watched import watched_thread
from storage.voices.store import VoiceStore
from storage.webhooks.deliveries import WebhookQueue
from worker.janitor.periodic_jobs import run_chores
from worker.janitor.sweeper import LEAVE_WITHIN_S, LOCK_S, Janitor, Leadership, chores_of, removals_of
from worker.janitor.voices import VoiceJanitor
from worker.janitor.webhooks import HookJanitor
from worker.process.metrics_server import serve_metrics
from worker.process.reporting import Reporting
from worker.process.state_watch import StateWatch
from worker.settings import ItemSettings

logger = logging.getLogger("worker.janitor")

TICKET_CAP = 256
"""Tickets that may wait in a queue: about four times the slots of all workers."""


def _agree_on_layout(settings: ItemSettings) -> None:
    """A janitor may start before Redis does. Workers check the same and need Redis."""
    try:
        with connect_redis(settings) as redis:
            agree_on_layout(redis, settings.key_prefix)
    except StateUnusable as error:
        sys.exit(f"the janitor cannot start: {error}")
    except StoreUnavailable as error:
        logger.warning("the state's layout is not known yet", extra={"error": str(error)})


def main() -> None:
    with settings_refused_by("janitor"):
        settings = load_settings(ItemSettings)
        configure_failpoints(settings.failpoint)
        check_certificates(settings)
        serve_metrics(settings.metrics_port)
        artifacts = open_artifacts(settings, FOR_CHORES)
    configure_process_logging(settings, role="janitor")
    logger.info("settings", extra={"values": " ".join(describe(settings))})
    stop = threading.Event()
    leave_on_signals(stop, LEAVE_WITHIN_S)
    tickets = TicketQueue(create_celery(settings, "rhapsode-janitor"))
    _agree_on_layout(settings)
    with connect_redis(settings) as redis:
        jobs = JobStore(redis, settings.key_prefix, max_attempts=settings.max_attempts)
        lock = JanitorLock(redis, settings.key_prefix, LOCK_S)
        name = f"{socket.gethostname()}-janitor-{uuid.uuid4().hex[:8]}"
        reporting = Reporting(WorkerRegistry(redis, settings.key_prefix), name, WorkerRole.JANITOR)
        reporting.begin()
        logger.info("janitor ready")
        voices = VoiceJanitor(VoiceStore(redis, settings.key_prefix), artifacts)
        hooks = HookJanitor(WebhookQueue(redis, settings.key_prefix), tickets, TICKET_CAP)
        janitor = Janitor(jobs, AuditLog(redis, settings.key_prefix), artifacts, tickets, TICKET_CAP)
        guard = StateGuard(redis, artifacts, settings.key_prefix)
        state = StateWatch(guard, Reconciler(redis, artifacts, settings.key_prefix), tickets)
        leadership = Leadership(lock.renew, janitor)
        removals = removals_of(janitor, voices)
        remover = watched_thread("removals", partial(run_chores, removals, leadership.is_held, stop), stop)
        remover.start()
        run_chores(chores_of(janitor, state, hooks), leadership.renew, stop)
        remover.join()
        reporting.close()
        try:
            lock.release()
        except StoreUnavailable as error:
            logger.warning("lock left to expire", extra={"error": str(error)})
    tickets.close()


def leave_on_signals(stop: threading.Event, patience_s: float) -> None:
    """SIGTERM and SIGINT set `stop`; a process that has not ended `patience_s` later is ended where it stands.

    Only for work that may be broken off anywhere. Call it once, in the main thread. A Python signal handler does not
    suffice. It runs only after the main thread has left the C library, which may be resolving the address of an
    unreachable host.
    """
    reader, writer = socket.socketpair()
    writer.settimeout(0.0)
    signal.set_wakeup_fd(writer.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)
    # The thread keeps both ends open as long as the process lives.
    threading.Thread(target=_leave, args=(stop, patience_s, reader, writer), name="leaving", daemon=True).start()


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    """A handler keeps the signal from ending the process. The thread `leaving` acts on it."""


def _leave(stop: threading.Event, patience_s: float, reader: socket.socket, _writer: socket.socket) -> None:
    reader.recv(1)
    stop.set()
    threading.Event().wait(patience_s)
    logger.warning("ended before all chores had stopped", extra={"after_s": patience_s})
    os._exit(0)


if __name__ == "__main__":
    main()
