"""The bodies of requests and answers about webhooks: the public contract."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rhapsode.contract.base import Answer, Id, Metadata, RequestBody
from rhapsode.contract.jobs.webhook import ReceiverUrl, among
from rhapsode.contract.speakable_text import check_prose
from rhapsode.contract.webhook_events import EVENTS, EVERY_EVENT, FINAL_JOB_EVENTS

ROTATION_OVERLAP_S = 24 * 3600
MAX_OVERLAP_S = 7 * 24 * 3600


def _known_events(names: list[str]) -> list[str]:
    return among(names, (*EVENTS, EVERY_EVENT))


Events = Annotated[list[str], Field(min_length=1, max_length=len(EVENTS)), AfterValidator(_known_events)]
Description = Annotated[str, Field(max_length=500), AfterValidator(check_prose)]


class EndpointState(enum.StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(enum.StrEnum):
    BY_USER = "by_user"
    GONE = "gone"
    """The receiver answered 410."""

    FAILING = "failing"
    """Every attempt failed for five days."""


class DeliveryState(enum.StrEnum):
    PENDING = "pending"
    """An attempt is due, now or later."""

    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Given up; it can be sent again."""

    @property
    def has_ended(self) -> bool:
        return self in (DeliveryState.DELIVERED, DeliveryState.FAILED)


class EndpointOrder(RequestBody):
    """A receiver of webhooks. `url`: https, on port 443 or 8443. `events`: names of events, or `*` alone for all."""

    url: ReceiverUrl
    events: Events = Field(default=list(FINAL_JOB_EVENTS))
    description: Description = ""
    metadata: Metadata = Field(default={})


class EndpointChange(RequestBody):
    """What is absent stays as it is."""

    url: ReceiverUrl | None = None
    events: Events | None = None
    description: Description | None = None
    metadata: Metadata | None = None


class RotateOrder(RequestBody):
    """`overlap_s`: how long webhooks are signed with the old secret, too."""

    overlap_s: int = Field(default=ROTATION_OVERLAP_S, ge=0, le=MAX_OVERLAP_S)


class WebhookEndpoint(Answer):
    """`failing_since`: null if the last attempt was taken. `waiting`: deliveries that wait for an attempt.

    `old_secrets_expire_at`: until when secrets that were replaced sign, too; null when the current one is alone.
    """

    id: Id
    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    url: str
    events: tuple[str, ...]
    description: str
    metadata: dict[str, str]
    state: EndpointState
    disabled_reason: DisabledReason | None
    failing_since: datetime | None
    waiting: int
    old_secrets_expire_at: datetime | None
    created_at: datetime
    updated_at: datetime


class NewWebhookEndpoint(WebhookEndpoint):
    """`secret` is shown here and never again: a repeat under an idempotency key has null. `rotate-secret` makes
    another.
    """

    secret: str | None


class WebhookEndpointList(Answer):
    data: tuple[WebhookEndpoint, ...]


class RotatedSecret(Answer):
    """The secret that signs from now on, which is not shown again: a repeat under an idempotency key has null."""

    id: Id
    secret: str | None
    old_secrets_expire_at: datetime | None


class WebhookSecret(Answer):
    """What signs webhooks to URLs that jobs name. A repeat of its change under an idempotency key has null."""

    secret: str | None
    old_secrets_expire_at: datetime | None


class WebhookAttempt(Answer):
    """`status`: null when there was no answer. `reason`: empty for a success. `excerpt`: of the answer's body, or why
    there was none."""

    at: datetime
    duration_s: float
    status: int | None
    reason: str
    excerpt: str


class WebhookDelivery(Answer):
    """One event for one receiver. `id` is the `webhook-id` that the receiver gets, with every attempt.

    `tries`: attempts since it was made or sent again; `attempts`: all. `reason`: why the last one failed.
    """

    id: Id
    object: Literal["webhook_delivery"] = "webhook_delivery"
    type: str
    state: DeliveryState
    endpoint_id: Id | None
    url: str | None
    job: str | None
    tries: int
    attempts: int
    reason: str
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None


class WebhookDeliveryDetail(WebhookDelivery):
    """`payload`: what is sent, byte by byte. `log`: the last attempts, oldest first."""

    payload: str
    log: tuple[WebhookAttempt, ...]


class WebhookDeliveryList(Answer):
    data: tuple[WebhookDelivery, ...]
    next_cursor: str | None
    has_more: bool
