"""Deliveries as workers take them: claim, freeze the body, attempt, say what came of it."""

from __future__ import annotations

from typing import cast

import redis

from rhapsode.contract.webhooks import DeliveryState
from storage.database.keys import RedisKeys
from storage.database.scripts import SERVER_CLOCK, hash_fields
from storage.ids import DeliveryId
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.webhooks.record_codec import decode_delivery, decode_secrets, encode_attempt, live_secrets
from storage.webhooks.records import ClaimedDelivery, Verdict
from storage.webhooks.scripts import WebhookScripts

LEASE_S = 30.0
"""How long an attempt stays with a worker that fell silent: twice what an attempt takes at most."""

DUE_TARGETS = 128

_SCRIPTS = ("webhook_claim", "webhook_freeze", "webhook_done", "webhook_return", "webhook_due")


class WebhookQueue:
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: str = SERVER_CLOCK) -> None:
        self._scripts = WebhookScripts(redis, RedisKeys(key_prefix), _SCRIPTS, clock)

    def claim(self, worker: WorkerIdentity, now_ms: int, *, with_suspects: bool) -> ClaimedDelivery | None:
        """The next delivery that is due, under a lease; None when nothing is.

        with_suspects: also one whose target has not proved that it answers. now_ms: Unix time here, by which secrets
        that were replaced expire.
        """
        reply = self._scripts.run(
            "webhook_claim", worker.name, worker.boot_id, round(LEASE_S * 1000), "1" if with_suspects else ""
        )
        if reply[0] == "empty":
            return None
        fence, suspect, url, secrets, api_url = (str(part) for part in reply[1:6])
        fields = hash_fields(reply[6]) | {"api_url": api_url}
        return ClaimedDelivery(
            decode_delivery(fields),
            int(fence),
            url,
            live_secrets(decode_secrets(secrets), now_ms),
            is_suspect=suspect == "1",
        )

    def freeze(self, delivery: DeliveryId, body: str) -> str | None:
        """The body that every attempt sends: this one, or the one that was given first. None: it is forgotten."""
        reply = self._scripts.run("webhook_freeze", delivery, body)
        return str(reply[0]) if reply else None

    def done(self, claimed: ClaimedDelivery, verdict: Verdict) -> DeliveryState | None:
        """The state it has now; None when the lease was over, and another worker tries again."""
        reply = self._scripts.run(
            "webhook_done",
            claimed.record.id,
            claimed.fence,
            "1" if verdict.is_delivered else "",
            "" if verdict.retry_ms is None else verdict.retry_ms,
            verdict.pause_ms,
            "1" if verdict.is_gone else "",
            encode_attempt(verdict.attempt),
            verdict.attempt.reason,
        )
        return None if reply[0] == "lost" else DeliveryState(str(reply[0]))

    def give_back(self, worker: WorkerIdentity) -> int:
        """Attempts that another boot_id of this worker left are due at once; returns how many."""
        return self._returned(self._scripts.run("webhook_return", 0, worker.name, worker.boot_id))

    def reap(self, limit: int) -> int:
        """Attempts whose worker fell silent are due again; returns how many."""
        return self._returned(self._scripts.run("webhook_return", limit, "", ""))

    def due(self) -> Tickets:
        """As many tickets as deliveries could be claimed now, of the first targets that wait."""
        count = cast("int", self._scripts.run("webhook_due", DUE_TARGETS)[0])
        return Tickets({HOOKS_QUEUE: count}) if count else Tickets()

    def _returned(self, reply: list[object]) -> int:
        return cast("int", reply[0])
