"""Answers that show a secret, once it is known that they do."""

from __future__ import annotations

from datetime import datetime

from rhapsode.contract.base import Answer
from rhapsode.contract.webhooks import WebhookEndpoint


class CreatedWebhookEndpoint(WebhookEndpoint):
    secret: str


class SetWebhookSecret(Answer):
    secret: str
    old_secrets_expire_at: datetime | None
