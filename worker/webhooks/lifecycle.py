"""The process that delivers webhooks, from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Overdue
from dataclasses import replace

from storage.database.connections import connect_redis
from storage.database.schema_version import agree_on_layout
from storage.errors import StorageError
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.queue.celery_queue import TicketQueue
from storage.queue.worker_registry import WorkerRegistry, WorkerRole
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.config.file_limit import allow_files
from storage.runtime.config.settings import SettingsError, describe, refusal
from storage.runtime.config.webhook_options import parse_delays
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.metrics import Snapshot, export
from storage.runtime.observability.tracing import configure_tracing, end_tracing
from storage.runtime.watched import watched_thread
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.http import webhook_client
from storage.webhooks.sealed_secrets import SecretSealer
from worker.process.consumption import CHECK_INTERVAL_S, ConsumptionWatch, ask_for_restart
from worker.process.metrics_server import serve_metrics
from worker.process.periodic import Periodic
from worker.process.reporting import Reporting
from worker.process.signals import TicketConsumption
from worker.webhooks.attempts import Sender
from worker.webhooks.sending import Deliverer
from worker.webhooks.settings import HookSettings

SLOTS = 256
"""Attempts at the same time."""

TICKET_LIFE_S = 60.0
"""How long one ticket waits while deliveries go on: far below the broker's visibility timeout."""

logger = logging.getLogger(__name__)

CONNECTIONS_BESIDE = 2_048
"""Kept ones, and those to Redis."""


class HookProcess:
    """The composition root. An attempt takes fifteen seconds at most, so a shutdown need not cut one short."""

    def __init__(self, settings: HookSettings, tickets: TicketQueue) -> None:
        self._settings = settings
        self._tickets = tickets
        self._closing = threading.Event()
        self._redis = connect_redis(settings)
        boot_id = uuid.uuid4().hex
        self._identity = WorkerIdentity(settings.name_for(boot_id), boot_id)
        self._queue = WebhookQueue(self._redis, settings.key_prefix)
        sender = Sender(
            webhook_client(settings.webhook_allow_private),
            SecretSealer(settings.webhook_key.get_secret_value()),
            parse_delays(settings.webhook_delays_s),
        )
        self._consumption: TicketConsumption | None = None
        self._reporting = Reporting(
            WorkerRegistry(self._redis, settings.key_prefix), self._identity.name, WorkerRole.HOOKS, HOOKS_QUEUE
        )
        self._reporting.on_change = self._follow_wish
        self._deliverer = Deliverer(self._queue, sender, self._identity, SLOTS, self._claims)
        self._deliveries = DeliveryLoop(self._deliverer)
        self._watch = ConsumptionWatch(HOOKS_QUEUE, tickets, self._is_busy, ask_for_restart)
        self._watching = Periodic("consumption-watch", CHECK_INTERVAL_S, self._watch.check)

    def start(self) -> None:
        """Raises `SystemExit` with one line if this process cannot run."""
        configure_process_logging(self._settings, role="hooks", worker=self._identity.name)
        logger.info("settings", extra={"values": " ".join(describe(self._settings))})
        try:
            configure_failpoints(self._settings.failpoint)
            configure_tracing(self._settings, "hooks")
            serve_metrics(self._settings.metrics_port)
            export(self._measure)
            check_certificates(self._settings)
            agree_on_layout(self._redis, self._settings.key_prefix)
            allow_files(CONNECTIONS_BESIDE + SLOTS)
            returned = self._queue.give_back(self._identity)
            self._tickets.send(self._queue.due())
            self._reporting.begin(lambda report: replace(report, leases=self._deliverer.num_under_way, slots=SLOTS))
        except (SettingsError, StorageError) as error:
            self.stop()
            raise refusal("the hooks worker cannot start", error) from error
        self._deliveries.start()
        self._watching.start()
        logger.info("worker ready", extra={"lane": "hooks", "worker": self._identity.name, "taken_back": returned})

    def run_ticket(self) -> None:
        self._watch.seen()
        self._deliveries.serve()

    def consumes(self, consumption: TicketConsumption) -> None:
        self._consumption = consumption
        if self._reporting.draining.is_set():
            consumption.pause(HOOKS_QUEUE)

    def begin_shutdown(self) -> None:
        """Claim nothing more. Returns at once; `stop` waits for the attempts under way."""
        self._closing.set()

    def stop(self) -> None:
        """After the last ticket."""
        self._closing.set()
        self._deliveries.close()
        self._watching.close()
        self._reporting.close()
        end_tracing()
        self._tickets.close()
        self._redis.close()

    def _is_busy(self) -> bool:
        return self._deliverer.num_under_way > 0 or not self._claims()

    def _claims(self) -> bool:
        return not self._closing.is_set() and not self._reporting.draining.is_set()

    def _follow_wish(self) -> None:
        if self._consumption is None:
            return
        if self._reporting.draining.is_set():
            self._consumption.pause(HOOKS_QUEUE)
        else:
            self._consumption.resume(HOOKS_QUEUE)

    def _measure(self, snapshot: Snapshot) -> None:
        snapshot.add("rhapsode_draining", self._reporting.draining.is_set())
        snapshot.add("rhapsode_webhook_attempts_in_progress", self._deliverer.num_under_way)


class DeliveryLoop:
    """`start` it, `close` it once. Any thread may call."""

    def __init__(self, deliverer: Deliverer) -> None:
        self._deliverer = deliverer
        # With a factory it leaves the event loop of the calling thread alone.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = threading.Event()
        self._thread = watched_thread("webhook-loop", self._run, self._closing)

    def start(self) -> None:
        self._loop = self._runner.get_loop()
        self._thread.start()

    def serve(self) -> None:
        """Returns when nothing more is due, or no place is free, or a ticket's life is over."""
        if self._loop is None or self._closing.is_set():
            return
        served: Future[None] = asyncio.run_coroutine_threadsafe(self._deliverer.serve(), self._loop)
        try:
            served.result(TICKET_LIFE_S)
        except Overdue:
            served.cancel()

    def close(self) -> None:
        """Returns when everything under way is settled. Idempotent."""
        if self._loop is None or self._closing.is_set():
            return
        self._closing.set()
        self._loop.call_soon_threadsafe(self._deliverer.wake)
        self._thread.join()
        with self._runner:
            self._runner.run(self._deliverer.close())

    def _run(self) -> None:
        """Started again, it goes on in the same event loop, with the attempts that are under way."""
        self._runner.run(self._deliverer.run(self._closing.is_set))
