"""One ticket: deliver whatever is due, then the next, as long as something is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.errors import StoreUnavailable
from storage.jobs.work_items import WorkerIdentity
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.logs import delivery_fields
from storage.runtime.observability.tracing import span
from storage.webhooks.deliveries import LEASE_S, WebhookQueue
from storage.webhooks.records import ClaimedDelivery, Verdict
from worker.leases.persistence import settle
from worker.webhooks.attempts import DeliveryForgotten, Sender
from worker.webhooks.metrics import attempted

logger = logging.getLogger(__name__)

TICKET_LIFE_S = 60.0
"""How long one ticket goes on with deliveries: far below the broker's visibility timeout."""

VERDICT_PATIENCE_S = LEASE_S / 2


@dataclass(slots=True)
class Places:
    """How many attempts at suspects there may be at the same time: the other threads are for those that answer.

    A receiver that hangs takes a thread for fifteen seconds; however many of them there are, they delay no other.
    """

    most: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _taken: int = 0

    def take(self) -> bool:
        """False when all are taken."""
        with self._lock:
            if self._taken >= self.most:
                return False
            self._taken += 1
            return True

    def give_back(self) -> None:
        with self._lock:
            self._taken -= 1


class Deliverer:
    """Any thread may call any method. claims: whether anything new may be claimed."""

    def __init__(
        self,
        queue: WebhookQueue,
        sender: Sender,
        worker: WorkerIdentity,
        suspect_places: int,
        claims: Callable[[], bool],
    ) -> None:
        self._queue = queue
        self._sender = sender
        self._worker = worker
        self._places = Places(suspect_places)
        self._claims = claims
        self._lock = threading.Lock()
        self._under_way = 0

    @property
    def num_under_way(self) -> int:
        return self._under_way

    def run_ticket(self) -> None:
        until_s = time.monotonic() + TICKET_LIFE_S
        while self._claims() and time.monotonic() < until_s and self.deliver_one():
            pass

    def deliver_one(self) -> bool:
        """One attempt; False when nothing was due, or could be claimed."""
        has_place = self._places.take()
        try:
            claimed = self._queue.claim(self._worker, round(time.time() * 1000), with_suspects=has_place)
            if has_place and (claimed is None or not claimed.is_suspect):
                self._places.give_back()
                has_place = False
            if claimed is None:
                return False
            record = claimed.record
            with (
                self._counted(),
                delivery_fields(record.id, record.type, record.attempts + 1),
                span("webhook", record.trace, delivery=record.id, event=record.type, attempt=record.attempts + 1),
            ):
                self._deliver(claimed)
            return True
        except StoreUnavailable as error:
            # The lease of what was claimed runs out, and the janitor sends tickets again.
            logger.warning("delivery put off", extra={"error": str(error)})
            return False
        finally:
            if has_place:
                self._places.give_back()

    def _deliver(self, claimed: ClaimedDelivery) -> None:
        try:
            verdict = self._sender.attempt(claimed)
        except DeliveryForgotten as error:
            logger.warning("delivery forgotten", extra={"error": str(error)})
            return
        except StoreUnavailable:
            raise
        except Exception as error:
            # A fault of ours must not be tried again every half minute for ever.
            logger.exception("delivery failed unexpectedly")
            verdict = self._sender.given_up(claimed, error)
        failpoint("hook.after_post")
        state = settle(lambda: self._queue.done(claimed, verdict), VERDICT_PATIENCE_S)
        attempted(verdict, state)
        _log(claimed, verdict, state or "lost")

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1


def _log(claimed: ClaimedDelivery, verdict: Verdict, state: str) -> None:
    """Without the URL, whose query may hold a secret of the receiver's."""
    logger.info(
        "webhook attempted",
        extra={
            "state": state,
            "target": claimed.record.target,
            "status": verdict.attempt.status,
            "reason": verdict.attempt.reason,
            "duration_ms": verdict.attempt.duration_ms,
            "retry_ms": verdict.retry_ms,
        },
    )
