"""Events that webhooks tell of, and where those of one job go. Pure.

A target is what deliveries wait for together: an endpoint, or all URLs of one tenant at one host.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from storage.ids import EndpointId, Target, TenantId

NO_ENDPOINT = EndpointId("")


JOB_EVENTS = (
    "job.created",
    "job.started",
    "job.paused",
    "job.resumed",
    "job.reopened",
    "job.segment.edited",
    "job.segment.selected",
    "job.segment.flagged",
    "job.segment.failed",
    "job.artifact.created",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "job.expired",
    "batch.completed",
)
"""`job.progress` and `job.segment.completed` come by the thousand and are in the job's event stream only."""

FINAL_JOB_EVENTS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")
"""What a receiver gets that chose nothing."""

BATCH_EVENTS = ("batch.completed",)
"""Of a batch nothing else is told: its jobs tell of themselves."""

OTHER_EVENTS = (
    "voice.created",
    "voice.deleted",
    "voice.cache.ready",
    "voice.cache.failed",
    "webhook_endpoint.disabled",
    "usage.quota_reached",
)

EVENTS = JOB_EVENTS + BATCH_EVENTS + OTHER_EVENTS
EVERY_EVENT = "*"

TEST_EVENT = "webhook_endpoint.test"
"""Sent on request, whatever the endpoint chose."""


@dataclass(frozen=True, slots=True)
class JobWebhook:
    """Where the events of one job go, on top of the tenant's endpoints: to a URL, or to an endpoint.

    endpoint: "" for a URL of the job's own. events: in place of what the endpoint chose. api_url: how the caller
    reaches the API, for links to the job.
    """

    target: Target
    events: tuple[str, ...] = FINAL_JOB_EVENTS
    endpoint: EndpointId = NO_ENDPOINT
    url: str = ""
    api_url: str = ""


def endpoint_target(endpoint: EndpointId) -> Target:
    return Target(f"e:{endpoint}")


def url_target(tenant: TenantId, url: str) -> Target:
    """The same for all URLs of one origin: what one of them suffers, the others would."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{(parts.hostname or '').lower()}:{parts.port or ''}"
    return Target(f"h:{tenant}:{hashlib.sha256(origin.encode()).hexdigest()[:24]}")
