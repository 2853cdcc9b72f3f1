"""Every request about webhooks as a value. No I/O: both clients send these."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import Call, job_path, nothing, resource, shown_once
from rhapsode.client.plain_json import json_object
from rhapsode.client.webhooks.resources import NewWebhookEndpoint, WebhookSecret
from rhapsode.contract.webhooks import (
    DeliveryState,
    WebhookDelivery,
    WebhookDeliveryDetail,
    WebhookDeliveryList,
    WebhookEndpoint,
    WebhookEndpointList,
)

ENDPOINTS = "/v1/webhook-endpoints"
FINAL_EVENTS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")
DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class EndpointChanges:
    """What is None stays as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    metadata: Mapping[str, str] | None = None

    def body(self) -> dict[str, JsonValue]:
        said = {"url": self.url, "events": self.events, "description": self.description}
        return json_object({**said, "metadata": self.metadata})


def create_endpoint(order: EndpointChanges) -> Call[NewWebhookEndpoint]:
    read = shown_once(NewWebhookEndpoint, "make another for {id}, as `rotate` does")
    return Call("POST", ENDPOINTS, read, headers=_once(), body=order.body())


def list_endpoints() -> Call[tuple[WebhookEndpoint, ...]]:
    read = resource(WebhookEndpointList)
    return Call("GET", ENDPOINTS, lambda response: read(response).data)


def get_endpoint(endpoint: str) -> Call[WebhookEndpoint]:
    return Call("GET", endpoint_path(endpoint), resource(WebhookEndpoint))


def change_endpoint(endpoint: str, changes: EndpointChanges) -> Call[WebhookEndpoint]:
    return Call("PATCH", endpoint_path(endpoint), resource(WebhookEndpoint), body=changes.body())


def delete_endpoint(endpoint: str) -> Call[None]:
    return Call("DELETE", endpoint_path(endpoint), nothing)


def enable_endpoint(endpoint: str) -> Call[WebhookEndpoint]:
    return Call("POST", f"{endpoint_path(endpoint)}/enable", resource(WebhookEndpoint), headers=_once())


def disable_endpoint(endpoint: str) -> Call[WebhookEndpoint]:
    return Call("POST", f"{endpoint_path(endpoint)}/disable", resource(WebhookEndpoint), headers=_once())


def rotate_secret(endpoint: str, overlap_s: int) -> Call[WebhookSecret]:
    path = f"{endpoint_path(endpoint)}/rotate-secret"
    return Call("POST", path, _ROTATED, headers=_once(), body={"overlap_s": overlap_s})


def send_test(endpoint: str) -> Call[WebhookDelivery]:
    return Call("POST", f"{endpoint_path(endpoint)}/test", resource(WebhookDelivery), headers=_once())


def list_deliveries(
    endpoint: str, states: frozenset[DeliveryState], page_size: int, cursor: str | None
) -> Call[WebhookDeliveryList]:
    params = [("state", state.value) for state in sorted(states)] + [("limit", str(page_size))]
    params += [("cursor", cursor)] if cursor else []
    path = f"{endpoint_path(endpoint)}/deliveries"
    return Call("GET", path, resource(WebhookDeliveryList), params=tuple(params))


def job_deliveries(job: str) -> Call[tuple[WebhookDelivery, ...]]:
    read = resource(WebhookDeliveryList)
    return Call("GET", f"{job_path(job)}/webhook-deliveries", lambda response: read(response).data)


def get_delivery(delivery: str) -> Call[WebhookDeliveryDetail]:
    return Call("GET", _delivery_path(delivery), resource(WebhookDeliveryDetail))


def redeliver(delivery: str) -> Call[WebhookDelivery]:
    return Call("POST", f"{_delivery_path(delivery)}/redeliver", resource(WebhookDelivery), headers=_once())


def job_secret() -> Call[WebhookSecret]:
    return Call("GET", "/v1/webhook-secret", resource(WebhookSecret))


def rotate_job_secret(overlap_s: int) -> Call[WebhookSecret]:
    path = "/v1/webhook-secret/rotate"
    return Call("POST", path, _ROTATED, headers=_once(), body={"overlap_s": overlap_s})


def endpoint_path(endpoint: str) -> str:
    return f"{ENDPOINTS}/{quote(endpoint, safe='')}"


_ROTATED = shown_once(WebhookSecret, "rotate it once more")


def _delivery_path(delivery: str) -> str:
    return f"/v1/webhook-deliveries/{quote(delivery, safe='')}"


def _once() -> dict[str, str]:
    """A repeat after a broken connection is the same request."""
    return {"Idempotency-Key": str(uuid.uuid4())}
