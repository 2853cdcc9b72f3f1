"""What the API answers about webhooks, as frozen values."""

from __future__ import annotations

import enum
from datetime import datetime

from pydantic import Field

from rhapsode.client.resources import Resource


class DeliveryState(enum.StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


class WebhookEndpoint(Resource):
    """A receiver. `waiting`: deliveries that wait for an attempt. `failing_since`: None if the last one was taken."""

    id: str
    url: str
    events: tuple[str, ...]
    description: str = ""
    metadata: dict[str, str] = Field(default={})
    state: str
    disabled_reason: str | None = None
    failing_since: datetime | None = None
    waiting: int = 0
    created_at: datetime


class NewWebhookEndpoint(WebhookEndpoint):
    """`secret`: `whsec_...`, which the server does not show again."""

    secret: str


class WebhookEndpointList(Resource):
    data: tuple[WebhookEndpoint, ...]


class WebhookSecret(Resource):
    """old_secrets_expire_at: until when webhooks are signed with the one before, too."""

    secret: str
    old_secrets_expire_at: datetime | None = None


class WebhookAttempt(Resource):
    at: datetime
    duration_s: float
    status: int | None = None
    reason: str = ""
    excerpt: str = ""


class WebhookDelivery(Resource):
    """One event for one receiver. `id` is the `webhook-id` that the receiver gets. `reason`: of the last failure."""

    id: str
    type: str
    state: DeliveryState
    endpoint_id: str | None = None
    url: str | None = None
    job: str | None = None
    attempts: int = 0
    reason: str = ""
    created_at: datetime
    next_attempt_at: datetime | None = None


class WebhookDeliveryDetail(WebhookDelivery):
    """`payload`: what is sent, byte by byte. `log`: the last attempts."""

    payload: str
    log: tuple[WebhookAttempt, ...] = ()


class WebhookDeliveryPage(Resource):
    data: tuple[WebhookDelivery, ...]
    has_more: bool = False
    next_cursor: str | None = None
