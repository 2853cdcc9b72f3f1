"""Events that webhooks tell of, and where those of one job go. Pure.

A target is what deliveries wait for together: an endpoint, or all URLs of one tenant at one host.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS
from storage.ids import EndpointId, Target, TenantId

NO_ENDPOINT = EndpointId("")


@dataclass(frozen=True, slots=True)
class WebhookTarget:
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
