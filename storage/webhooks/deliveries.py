"""Deliveries as workers take them, many at a time: claim, freeze the bodies, attempt, say what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import redis

from rhapsode.contract.webhooks import DeliveryState
from storage.database.functions import Clock, Functions, Reply, Value
from storage.ids import DeliveryId
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.webhooks.record_codec import decode_delivery, decode_secrets, encode_attempt, live_secrets
from storage.webhooks.records import ClaimedDelivery, DeliveryVerdict

LEASE_S = 30.0
"""How long an attempt stays with a worker that fell silent: twice what an attempt takes at most."""

CLAIM_BATCH = 50
"""Deliveries that one call claims at the most."""

DUE_TARGETS = 128


class WebhookQueue:
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._call = Functions(redis, key_prefix, clock).call

    def claim(
        self, worker: WorkerIdentity, now_ms: int, *, most: int, most_suspects: int
    ) -> tuple[tuple[ClaimedDelivery, ...], bool]:
        """The next deliveries that are due, under a lease each; and whether nothing more was due for the caller.

        most: `CLAIM_BATCH` at the most. most_suspects: of them, whose target has not proved that it answers.
        now_ms: Unix time here, by which secrets that were replaced expire.
        """
        reply = self._call(
            "webhook_claim",
            worker=worker.name,
            boot_id=worker.boot_id,
            lease_ms=round(LEASE_S * 1000),
            most=min(most, CLAIM_BATCH),
            most_suspects=most_suspects,
        )
        return tuple(_claimed(row, now_ms) for row in reply.parts("deliveries")), reply.flag("is_drained")

    def freeze(self, bodies: Mapping[DeliveryId, str]) -> dict[DeliveryId, str]:
        """The body that every attempt at each of them sends: this one, or the one that was given first. Those that are
        forgotten are missing.
        """
        given = [{"delivery": delivery, "body": body} for delivery, body in bodies.items()]
        kept = self._call("webhook_freeze", bodies=given).texts("bodies") if given else []
        return {delivery: body for delivery, body in zip(bodies, kept, strict=True) if body}

    def done(self, ended: Sequence[tuple[ClaimedDelivery, DeliveryVerdict]]) -> list[DeliveryState | None]:
        """The states that they have now; None where the lease was over, and another worker tries again."""
        verdicts = [_verdict(claimed, verdict) for claimed, verdict in ended]
        states = self._call("webhook_done", verdicts=verdicts).texts("states")
        return [DeliveryState(state) if state else None for state in states]

    def give_back(self, worker: WorkerIdentity) -> int:
        """Attempts that another boot_id of this worker left are due at once; returns how many."""
        return self._call("webhook_return", limit=0, worker=worker.name, boot_id=worker.boot_id).number("count")

    def reap(self, limit: int) -> int:
        """Attempts whose worker fell silent are due again; returns how many."""
        return self._call("webhook_return", limit=limit, worker="", boot_id="").number("count")

    def due(self) -> Tickets:
        """A ticket for each claim that what is due now would take, of the first targets that wait."""
        count = self._call("webhook_due", limit=DUE_TARGETS).number("count")
        return Tickets({HOOKS_QUEUE: ceil(count / CLAIM_BATCH)}) if count else Tickets()


def _claimed(row: Reply, now_ms: int) -> ClaimedDelivery:
    record = decode_delivery(row.hash("record") | {"api_url": row.text("api_url")})
    secrets = live_secrets(decode_secrets(row.text("secrets")), now_ms)
    return ClaimedDelivery(record, row.number("fence"), row.text("url"), secrets, is_suspect=row.flag("is_suspect"))


def _verdict(claimed: ClaimedDelivery, verdict: DeliveryVerdict) -> dict[str, Value]:
    said: dict[str, Value] = {
        "delivery": claimed.record.id,
        "fence": str(claimed.fence),
        "is_delivered": verdict.is_delivered,
        "pause_ms": verdict.pause_ms,
        "is_gone": verdict.is_gone,
        "attempt": encode_attempt(verdict.attempt),
        "reason": verdict.attempt.reason,
    }
    return said if verdict.retry_ms is None else said | {"retry_ms": verdict.retry_ms}
