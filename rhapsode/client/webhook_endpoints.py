"""What a new receiver is asked for and answers with."""

from __future__ import annotations

from datetime import datetime

from rhapsode.contract.base import Answer
from rhapsode.contract.webhooks import WebhookEndpoint

FINAL_EVENTS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")


class CreatedWebhookEndpoint(WebhookEndpoint):
    """Once it is known that the answer shows its secret."""

    secret: str


class SetWebhookSecret(Answer):
    secret: str
    old_secrets_expire_at: datetime | None
