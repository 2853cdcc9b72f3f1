"""The webhooks that this server sends, as OpenAPI 3.1 has them: an operation each that the receiver serves."""

from __future__ import annotations

from typing import Any

from api.http.bodies import refer
from rhapsode.contract.webhook_events import EVENTS, TEST_EVENT
from rhapsode.contract.webhook_payloads import WebhookPayload

_HEADERS: tuple[tuple[str, str], ...] = (
    ("webhook-id", "the same whenever this event is sent again: remember the ids that were dealt with"),
    ("webhook-timestamp", "Unix seconds of this attempt; refuse what is more than five minutes away"),
    (
        "webhook-signature",
        "`v1,` and Base64 of HMAC-SHA256 over `id.timestamp.body`; several while a secret changes",
    ),
)


def add_webhooks(document: dict[str, Any]) -> None:
    document["webhooks"] = {event: {"post": _operation(event)} for event in sorted((*EVENTS, TEST_EVENT))}


def _operation(event: str) -> dict[str, Any]:
    return {
        "operationId": f"webhook.{event}",
        "tags": ["webhooks"],
        "summary": f"{event}, signed as Standard Webhooks 1.0 says",
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in _HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": refer(WebhookPayload)}},
        },
        "responses": {
            "2XX": {"description": "Taken; it is not sent again"},
            "410": {"description": "The endpoint is disabled"},
            "default": {"description": "Sent again, up to ten times within three days; `Retry-After` is honoured"},
        },
    }
