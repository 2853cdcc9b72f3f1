"""Deliveries as workers take them: claim, freeze the body, attempt, say what came of it."""

from __future__ import annotations

import redis

from rhapsode.contract.webhooks import DeliveryState
from storage.database.functions import Clock, Functions, Reply, Value
from storage.database.redis_errors import redis_errors_named
from storage.ids import DeliveryId
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.webhooks.record_codec import decode_delivery, decode_secrets, encode_attempt, live_secrets
from storage.webhooks.records import ClaimedDelivery, Verdict

LEASE_S = 30.0
"""How long an attempt stays with a worker that fell silent: twice what an attempt takes at most."""

DUE_TARGETS = 128


class WebhookQueue:
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._functions = Functions(redis, key_prefix, clock)

    def claim(self, worker: WorkerIdentity, now_ms: int, *, with_suspects: bool) -> ClaimedDelivery | None:
        """The next delivery that is due, under a lease; None when nothing is.

        with_suspects: also one whose target has not proved that it answers. now_ms: Unix time here, by which secrets
        that were replaced expire.
        """
        reply = self._call(
            "webhook_claim",
            worker=worker.name,
            boot_id=worker.boot_id,
            lease_ms=round(LEASE_S * 1000),
            with_suspects=with_suspects,
        )
        if reply.status == "empty":
            return None
        return ClaimedDelivery(
            decode_delivery(reply.hash("record") | {"api_url": reply.text("api_url")}),
            reply.number("fence"),
            reply.text("url"),
            live_secrets(decode_secrets(reply.text("secrets")), now_ms),
            is_suspect=reply.flag("is_suspect"),
        )

    def freeze(self, delivery: DeliveryId, body: str) -> str | None:
        """The body that every attempt sends: this one, or the one that was given first. None: it is forgotten."""
        reply = self._call("webhook_freeze", delivery=delivery, body=body)
        return None if reply.status == "gone" else reply.text("body")

    def done(self, claimed: ClaimedDelivery, verdict: Verdict) -> DeliveryState | None:
        """The state it has now; None when the lease was over, and another worker tries again."""
        reply = self._call(
            "webhook_done",
            delivery=claimed.record.id,
            fence=str(claimed.fence),
            is_delivered=verdict.is_delivered,
            retry_ms=verdict.retry_ms,
            pause_ms=verdict.pause_ms,
            is_gone=verdict.is_gone,
            attempt=encode_attempt(verdict.attempt),
            reason=verdict.attempt.reason,
        )
        return None if reply.status == "lost" else DeliveryState(reply.text("state"))

    def give_back(self, worker: WorkerIdentity) -> int:
        """Attempts that another boot_id of this worker left are due at once; returns how many."""
        return self._call("webhook_return", limit=0, worker=worker.name, boot_id=worker.boot_id).number("count")

    def reap(self, limit: int) -> int:
        """Attempts whose worker fell silent are due again; returns how many."""
        return self._call("webhook_return", limit=limit, worker="", boot_id="").number("count")

    def due(self) -> Tickets:
        """As many tickets as deliveries could be claimed now, of the first targets that wait."""
        count = self._call("webhook_due", limit=DUE_TARGETS).number("count")
        return Tickets({HOOKS_QUEUE: count}) if count else Tickets()

    def _call(self, function: str, /, **arguments: Value | None) -> Reply:
        with redis_errors_named():
            return self._functions.call(function, **arguments)
