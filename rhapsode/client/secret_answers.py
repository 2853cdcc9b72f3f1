"""Answers that show a secret, once."""

from __future__ import annotations

from datetime import datetime

from rhapsode.contract.base import Answer
from rhapsode.contract.operators.keys import ApiKeyView
from rhapsode.contract.webhooks import WebhookEndpoint


class CreatedApiKey(ApiKeyView):
    """Once it is known that the answer shows its secret."""

    secret: str


class CreatedWebhookEndpoint(WebhookEndpoint):
    """As `CreatedApiKey`."""

    secret: str


class SetWebhookSecret(Answer):
    secret: str
    old_secrets_expire_at: datetime | None
