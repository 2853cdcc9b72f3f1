"""One attempt at a delivery: its body, signed, posted, and the answer judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from standardwebhooks import Webhook

from storage.runtime.egress.connecting import HttpAnswer
from storage.runtime.egress.errors import SafeHttpError
from storage.runtime.egress.kept import KeptHttp
from storage.webhooks.payloads import compose
from storage.webhooks.records import ClaimedDelivery, DeliveryAttempt, DeliveryRecord, DeliveryVerdict
from storage.webhooks.sealed_secrets import SecretSealer, SecretUnreadable
from worker.webhooks.retry_schedule import retry_delay_s, wished_delay_s

CONTENT_TYPE = "application/json"

MAX_ANSWER_BYTES = 16 * 1024
"""Of the receiver's answer, so much is read."""

EXCERPT_CHARS = 1_000
"""And so much is shown."""

GONE = 410


@dataclass(frozen=True, slots=True)
class Sender:
    """What attempts need. delays_s: between them."""

    http: KeptHttp
    sealer: SecretSealer
    delays_s: tuple[float, ...]

    async def attempt(self, claimed: ClaimedDelivery, body: str) -> DeliveryVerdict:
        """Whatever the receiver does is a verdict."""
        begun_s, started = time.time(), time.monotonic()
        try:
            headers = _signed_headers(claimed.record.id, body, self._secrets(claimed), int(begun_s))
            answer = await self.http.post(claimed.record.tenant, claimed.url, body.encode(), headers, MAX_ANSWER_BYTES)
        except (SafeHttpError, SecretUnreadable) as error:
            reason = error.reason if isinstance(error, SafeHttpError) else "secret_unreadable"
            return self._failed(claimed, _attempt(begun_s, started, None, reason, str(error)), None)
        return self._judged(claimed, answer, begun_s, started)

    def given_up(self, claimed: ClaimedDelivery, error: Exception) -> DeliveryVerdict:
        """What an attempt comes to that failed for an unforeseen reason: it counts, and the schedule goes on."""
        attempt = _attempt(time.time(), time.monotonic(), None, "internal", type(error).__name__)
        return self._failed(claimed, attempt, None)

    def _secrets(self, claimed: ClaimedDelivery) -> list[str]:
        owner = claimed.record.endpoint or claimed.record.tenant
        if not claimed.secrets:
            raise SecretUnreadable(f"there is no secret to sign for {owner}")
        return [self.sealer.open(secret.sealed, owner) for secret in claimed.secrets]

    def _judged(self, claimed: ClaimedDelivery, answer: HttpAnswer, begun_s: float, started: float) -> DeliveryVerdict:
        is_delivered = 200 <= answer.status < 300
        reason = "" if is_delivered else "status"
        attempt = _attempt(begun_s, started, answer.status, reason, _excerpt(answer.body))
        if is_delivered:
            return DeliveryVerdict(attempt, is_delivered=True)
        wished_s = wished_delay_s(answer.status, answer.headers.get("retry-after"))
        return self._failed(claimed, attempt, wished_s, is_gone=answer.status == GONE)

    def _failed(
        self, claimed: ClaimedDelivery, attempt: DeliveryAttempt, wished_s: float | None, *, is_gone: bool = False
    ) -> DeliveryVerdict:
        delay_s = None if is_gone else retry_delay_s(self.delays_s, claimed.record.tries + 1, wished_s)
        return DeliveryVerdict(
            attempt,
            is_delivered=False,
            retry_ms=None if delay_s is None else round(delay_s * 1000),
            pause_ms=round((wished_s or 0.0) * 1000),
            is_gone=is_gone,
        )


def made_body(record: DeliveryRecord) -> str | None:
    """What the first attempt sends and is to be stored before; None if that was done, or nothing is known any more."""
    if record.body is not None or record.facts is None:
        return None
    return compose(record.type, record.created_at_ms, record.facts, record.api_url)


def _signed_headers(delivery: str, body: str, secrets: Sequence[str], unix_s: int) -> dict[str, str]:
    """Of Standard Webhooks: one signature for each secret, so that receivers may still know only the one before.

    secrets: `whsec_...`, at least one. unix_s: the time of this attempt, which is signed too.
    """
    at = datetime.fromtimestamp(unix_s, UTC)
    signatures = [Webhook(secret).sign(msg_id=delivery, timestamp=at, data=body) for secret in secrets]
    return {
        "Content-Type": CONTENT_TYPE,
        "webhook-id": delivery,
        "webhook-timestamp": str(unix_s),
        "webhook-signature": " ".join(signatures),
    }


def _attempt(begun_s: float, started: float, status: int | None, reason: str, excerpt: str) -> DeliveryAttempt:
    duration_ms = round((time.monotonic() - started) * 1000)
    return DeliveryAttempt(round(begun_s * 1000), duration_ms, status, reason, excerpt[:EXCERPT_CHARS])


def _excerpt(body: bytes) -> str:
    """Whatever a receiver says is shown as text on one line, and never interpreted."""
    text = body[: 4 * EXCERPT_CHARS].decode("utf-8", "replace")
    return "".join(character if character.isprintable() else " " for character in text).strip()
