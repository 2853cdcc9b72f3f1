"""The process that delivers webhooks, from its start to its end."""

from __future__ import annotations

import logging
import threading
import uuid

from storage.certificates import check_certificates
from storage.connections import connect_redis
from storage.errors import StorageError
from storage.failpoints import configure as configure_failpoints
from storage.jobs import WorkerIdentity
from storage.queue import TicketQueue
from storage.settings import SettingsError, describe
from storage.telemetry import configure_process_logging
from storage.webhook_http import webhook_client
from storage.webhook_options import parse_delays
from storage.webhook_queue import WebhookQueue
from storage.webhook_secrets import SecretSealer
from storage.work_queues import HOOKS_QUEUE
from worker.consumption import CHECK_INTERVAL_S, ConsumptionWatch
from worker.periodic import Periodic
from worker.restart import ask_for_restart
from worker.webhooks.attempts import Sender
from worker.webhooks.sending import Deliverer
from worker.webhooks.settings import HookSettings

logger = logging.getLogger(__name__)


class HookProcess:
    """The composition root. An attempt takes fifteen seconds at most, so a shutdown need not cut one short."""

    def __init__(self, settings: HookSettings, tickets: TicketQueue) -> None:
        self._settings = settings
        self._tickets = tickets
        self._closing = threading.Event()
        self._redis = connect_redis(settings)
        incarnation = uuid.uuid4().hex
        self._identity = WorkerIdentity(settings.name_for(incarnation), incarnation)
        self._queue = WebhookQueue(self._redis, settings.key_prefix)
        sender = Sender(
            webhook_client(settings.webhook_allow_private),
            SecretSealer(settings.webhook_key.get_secret_value()),
            self._queue,
            parse_delays(settings.webhook_delays_s),
        )
        suspect_places = settings.webhook_threads // 2
        self._deliverer = Deliverer(self._queue, sender, self._identity, suspect_places, self._closing)
        self._watch = ConsumptionWatch(HOOKS_QUEUE, tickets, self._is_busy, ask_for_restart)
        self._watching = Periodic("consumption-watch", CHECK_INTERVAL_S, self._watch.check)

    def start(self) -> None:
        """Raises `SystemExit` with one line if this process cannot run."""
        configure_process_logging(self._settings)
        logger.info("settings", extra={"values": " ".join(describe(self._settings))})
        try:
            configure_failpoints(self._settings.failpoint)
            check_certificates(self._settings)
            returned = self._queue.give_back(self._identity)
            self._tickets.send(self._queue.due())
        except (SettingsError, StorageError) as error:
            self.stop()
            raise SystemExit(f"the hooks worker cannot start: {error}") from error
        self._watching.start()
        logger.info("worker ready", extra={"lane": "hooks", "worker": self._identity.name, "taken_back": returned})

    def run_ticket(self) -> None:
        self._watch.seen()
        self._deliverer.run_ticket()

    def begin_shutdown(self) -> None:
        """Claim nothing more. Returns at once; Celery waits for the attempts under way."""
        self._closing.set()

    def stop(self) -> None:
        """After the last task."""
        self._closing.set()
        self._watching.close()
        self._tickets.close()
        self._redis.close()

    def _is_busy(self) -> bool:
        return self._deliverer.num_under_way > 0 or self._closing.is_set()
