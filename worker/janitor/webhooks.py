"""The janitor's part in webhooks: attempts whose worker fell silent, retries that are due, tickets that were lost."""

from __future__ import annotations

import logging

from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.queue.celery_queue import TicketQueue
from storage.webhooks.deliveries import WebhookQueue

logger = logging.getLogger(__name__)

BATCH = 200


class HookJanitor:
    def __init__(self, queue: WebhookQueue, tickets: TicketQueue, ticket_cap: int) -> None:
        self._queue = queue
        self._tickets = tickets
        self._ticket_cap = ticket_cap

    def sweep_hooks(self) -> Tickets:
        """A ticket for every claim that would find something now and has none waiting. A retry gets its ticket here."""
        returned = self._queue.reap(BATCH)
        if returned:
            logger.info("webhook attempts taken back", extra={"attempts": returned})
        due = min(self._queue.due().total(), self._ticket_cap)
        missing = due - self._tickets.waiting(HOOKS_QUEUE) if due else 0
        tickets = Tickets({HOOKS_QUEUE: missing}) if missing > 0 else Tickets()
        self._tickets.send(tickets)
        return tickets
