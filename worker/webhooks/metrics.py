"""What attempts at webhooks come to, as metrics."""

from __future__ import annotations

from rhapsode.contract.webhooks import DeliveryState
from storage.runtime.observability.metrics import counter, histogram
from storage.webhooks.records import DeliveryVerdict

_ATTEMPTS = counter("rhapsode_webhook_attempts")
_DURATION = histogram("rhapsode_webhook_attempt_duration_seconds")


def attempted(verdict: DeliveryVerdict, state: DeliveryState | None) -> None:
    """state: the delivery's after it; None when the lease was over. The reason is one of a few words, never a text."""
    outcome = "lost" if state is None else "retried" if state is DeliveryState.PENDING else state.value
    reason = verdict.attempt.reason
    if reason == "status":
        reason = f"status_{(verdict.attempt.status or 0) // 100}xx"
    _ATTEMPTS.labels(outcome, reason).inc()
    _DURATION.observe(verdict.attempt.duration_ms / 1000)
