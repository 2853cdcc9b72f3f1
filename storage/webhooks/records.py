"""Webhooks: endpoints, events, deliveries and their states. Pure.

An endpoint is a receiver that a tenant registered. A delivery is one event for one receiver, tried until it is taken
or given up. Conventions are those of Standard Webhooks 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rhapsode.contract.webhooks import DeliveryState, DisabledReason, EndpointState
from storage.ids import DeliveryId, EndpointId, JobId, Target, TenantId
from storage.jobs.webhook_target import endpoint_target


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A signing secret as it lies in Redis. until_ms: None for the current one; an older one signs until then."""

    sealed: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """events: names of `EVENTS`, or `EVERY_EVENT` alone. api_url: how its owner reaches the API, for links."""

    id: EndpointId
    tenant: TenantId
    url: str
    events: tuple[str, ...]
    sealed_secret: str
    api_url: str
    description: str = ""
    metadata: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class EndpointUpdate:
    """What is None stays as it is."""

    url: str | None = None
    events: tuple[str, ...] | None = None
    description: str | None = None
    metadata: dict[str, str] | None = None
    state: EndpointState | None = None


@dataclass(frozen=True, slots=True)
class EndpointRecord:
    """An endpoint as Redis holds it; times are Unix ms of the Redis server.

    failing_since_ms: since when no attempt has succeeded; None after a success.
    """

    id: EndpointId
    tenant: TenantId
    url: str
    events: tuple[str, ...]
    state: EndpointState
    disabled_reason: DisabledReason | None
    secrets: tuple[SealedSecret, ...]
    api_url: str
    description: str
    metadata: dict[str, str]
    created_at_ms: int
    updated_at_ms: int
    failing_since_ms: int | None = None
    waiting: int = 0

    @property
    def target(self) -> Target:
        return endpoint_target(self.id)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One try. status: of the answer, None when there was none. reason: "" for a success, else a word of the log."""

    at_ms: int
    duration_ms: int
    status: int | None
    reason: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A delivery as Redis holds it.

    job: of which the event tells; None for other events. facts: what the event says, until `body` is made of them.
    tries: attempts since it was created or sent again by hand; attempts: all of them. trace: of its job, "" if none.
    """

    id: DeliveryId
    tenant: TenantId
    target: Target
    endpoint: EndpointId | None
    url: str
    api_url: str
    type: str
    job: JobId | None
    state: DeliveryState
    created_at_ms: int
    next_attempt_at_ms: int | None
    ended_at_ms: int | None
    tries: int
    attempts: int
    reason: str = ""
    facts: str | None = None
    body: str | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery whose next attempt is the caller's, with what it needs. is_suspect: of a target not known to work."""

    record: DeliveryRecord
    fence: int
    url: str
    secrets: tuple[SealedSecret, ...]
    is_suspect: bool


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """What an attempt came to.

    retry_ms: until the next one; None when there is none. pause_ms: how long the target asked to be left alone.
    is_gone: the receiver wants nothing more, ever.
    """

    attempt: DeliveryAttempt
    is_delivered: bool
    retry_ms: int | None = None
    pause_ms: int = 0
    is_gone: bool = False
