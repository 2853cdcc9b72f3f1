"""Every request about webhooks as a value. No I/O: both clients send these."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, job_path, nothing, resource, shown_once
from rhapsode.client.plain_json import json_object
from rhapsode.client.webhooks.resources import CreatedWebhookEndpoint, SetWebhookSecret
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
class EndpointFields:
    """What is None stays as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    metadata: Mapping[str, str] | None = None

    def body(self) -> dict[str, JsonValue]:
        said = {"url": self.url, "events": self.events, "description": self.description}
        return json_object({**said, "metadata": self.metadata})


def create_endpoint(order: EndpointFields) -> ApiCall[CreatedWebhookEndpoint]:
    read = shown_once(CreatedWebhookEndpoint, "make another for {id}, as `rotate` does")
    return ApiCall("POST", ENDPOINTS, read, headers=_once(), body=order.body())


def list_endpoints() -> ApiCall[tuple[WebhookEndpoint, ...]]:
    read = resource(WebhookEndpointList)
    return ApiCall("GET", ENDPOINTS, lambda response: read(response).data)


def get_endpoint(endpoint: str) -> ApiCall[WebhookEndpoint]:
    return ApiCall("GET", endpoint_path(endpoint), resource(WebhookEndpoint))


def change_endpoint(endpoint: str, changes: EndpointFields) -> ApiCall[WebhookEndpoint]:
    return ApiCall("PATCH", endpoint_path(endpoint), resource(WebhookEndpoint), body=changes.body())


def delete_endpoint(endpoint: str) -> ApiCall[None]:
    return ApiCall("DELETE", endpoint_path(endpoint), nothing)


def enable_endpoint(endpoint: str) -> ApiCall[WebhookEndpoint]:
    return ApiCall("POST", f"{endpoint_path(endpoint)}/enable", resource(WebhookEndpoint), headers=_once())


def disable_endpoint(endpoint: str) -> ApiCall[WebhookEndpoint]:
    return ApiCall("POST", f"{endpoint_path(endpoint)}/disable", resource(WebhookEndpoint), headers=_once())


def rotate_secret(endpoint: str, overlap_s: int) -> ApiCall[SetWebhookSecret]:
    path = f"{endpoint_path(endpoint)}/rotate-secret"
    return ApiCall("POST", path, _ROTATED, headers=_once(), body={"overlap_s": overlap_s})


def send_test(endpoint: str) -> ApiCall[WebhookDelivery]:
    return ApiCall("POST", f"{endpoint_path(endpoint)}/test", resource(WebhookDelivery), headers=_once())


def list_deliveries(
    endpoint: str, states: frozenset[DeliveryState], page_size: int, cursor: str | None
) -> ApiCall[WebhookDeliveryList]:
    params = [("state", state.value) for state in sorted(states)] + [("limit", str(page_size))]
    params += [("cursor", cursor)] if cursor else []
    path = f"{endpoint_path(endpoint)}/deliveries"
    return ApiCall("GET", path, resource(WebhookDeliveryList), params=tuple(params))


def job_deliveries(job: str) -> ApiCall[tuple[WebhookDelivery, ...]]:
    read = resource(WebhookDeliveryList)
    return ApiCall("GET", f"{job_path(job)}/webhook-deliveries", lambda response: read(response).data)


def get_delivery(delivery: str) -> ApiCall[WebhookDeliveryDetail]:
    return ApiCall("GET", _delivery_path(delivery), resource(WebhookDeliveryDetail))


def redeliver(delivery: str) -> ApiCall[WebhookDelivery]:
    return ApiCall("POST", f"{_delivery_path(delivery)}/redeliver", resource(WebhookDelivery), headers=_once())


def job_secret() -> ApiCall[SetWebhookSecret]:
    return ApiCall("GET", "/v1/webhook-secret", resource(SetWebhookSecret))


def rotate_job_secret(overlap_s: int) -> ApiCall[SetWebhookSecret]:
    path = "/v1/webhook-secret/rotate"
    return ApiCall("POST", path, _ROTATED, headers=_once(), body={"overlap_s": overlap_s})


def endpoint_path(endpoint: str) -> str:
    return f"{ENDPOINTS}/{quote(endpoint, safe='')}"


_ROTATED = shown_once(SetWebhookSecret, "rotate it once more")


def _delivery_path(delivery: str) -> str:
    return f"/v1/webhook-deliveries/{quote(delivery, safe='')}"


def _once() -> dict[str, str]:
    """A repeat after a broken connection is the same request."""
    return {"Idempotency-Key": str(uuid.uuid4())}
