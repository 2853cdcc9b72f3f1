"""The header fields of one attempt, signed by Standard Webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

CONTENT_TYPE = "application/json"


def signed_headers(delivery: str, body: str, secrets: Sequence[str], unix_s: int) -> dict[str, str]:
    """One signature for each secret, so that receivers may still know only the one before.

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
