"""Answers that show a secret, once."""

from __future__ import annotations

from datetime import datetime

from rhapsode.contract.base import Answer
from rhapsode.contract.operators.keys import ApiKeyView
from rhapsode.contract.webhooks import WebhookEndpoint


class CreatedApiKey(ApiKeyView):
    """A new key with its secret."""

    secret: str


class CreatedWebhookEndpoint(WebhookEndpoint):
    """A new endpoint with its secret."""

    secret: str


class SetWebhookSecret(Answer):
    secret: str
    old_secrets_expire_at: datetime | None
