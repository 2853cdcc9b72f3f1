"""`client.webhooks`: receivers of events, and deliveries to them. Receivers verify with `rhapsode.webhooks`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.calls import ApiCall, entries, given, job_path, nothing, path_of, resource, shown_once
from rhapsode.client.plain_json import json_object
from rhapsode.client.resources import Job
from rhapsode.client.secret_answers import CreatedWebhookEndpoint, SetWebhookSecret
from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS
from rhapsode.contract.webhooks import (
    DeliveryState,
    WebhookDelivery,
    WebhookDeliveryDetail,
    WebhookDeliveryList,
    WebhookEndpoint,
    WebhookEndpointList,
)

ENDPOINTS = "/v1/webhook-endpoints"
DELIVERIES = "/v1/webhook-deliveries"
OF_JOBS = "/v1/webhook-secret"
DAY_S = 24 * 3600


class AsyncWebhooks:
    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(
        self,
        url: str,
        events: Sequence[str] = FINAL_JOB_EVENTS,
        *,
        description: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> CreatedWebhookEndpoint:
        """Register a receiver; ("*",) for every event. Its `secret` is in this answer and nowhere else."""
        read = shown_once(CreatedWebhookEndpoint, "make another for {id}, as `rotate` does")
        body = json_object({"url": url, "events": events, "description": description, "metadata": metadata or {}})
        return await self._send(ApiCall("POST", ENDPOINTS, read, body=body))

    async def list(self) -> tuple[WebhookEndpoint, ...]:
        """The newest first."""
        return await self._send(ApiCall("GET", ENDPOINTS, entries(resource(WebhookEndpointList))))

    async def get(self, endpoint: str) -> WebhookEndpoint:
        return await self._send(ApiCall("GET", path_of(ENDPOINTS, endpoint), resource(WebhookEndpoint)))

    async def change(
        self,
        endpoint: WebhookEndpoint | str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> WebhookEndpoint:
        """What is None stays as it is."""
        body = json_object({"url": url, "events": events, "description": description, "metadata": metadata})
        return await self._send(ApiCall("PATCH", path_of(ENDPOINTS, endpoint), resource(WebhookEndpoint), body=body))

    async def delete(self, endpoint: WebhookEndpoint | str) -> None:
        await self._send(ApiCall("DELETE", path_of(ENDPOINTS, endpoint), nothing))

    async def enable(self, endpoint: WebhookEndpoint | str) -> WebhookEndpoint:
        """Send to it again, as if it had never failed."""
        return await self._send(ApiCall("POST", f"{path_of(ENDPOINTS, endpoint)}/enable", resource(WebhookEndpoint)))

    async def disable(self, endpoint: WebhookEndpoint | str) -> WebhookEndpoint:
        """Send it nothing any more; what waits for it is given up."""
        return await self._send(ApiCall("POST", f"{path_of(ENDPOINTS, endpoint)}/disable", resource(WebhookEndpoint)))

    async def rotate_secret(self, endpoint: WebhookEndpoint | str, *, overlap_s: int = DAY_S) -> SetWebhookSecret:
        """Another secret. For `overlap_s` webhooks are signed with the old one, too."""
        return await self._send(_rotation(f"{path_of(ENDPOINTS, endpoint)}/rotate-secret", overlap_s))

    async def send_test(self, endpoint: WebhookEndpoint | str) -> WebhookDelivery:
        """Send it a `webhook_endpoint.test`; what became of it says `delivery`."""
        return await self._send(ApiCall("POST", f"{path_of(ENDPOINTS, endpoint)}/test", resource(WebhookDelivery)))

    def deliveries(
        self, endpoint: WebhookEndpoint | str, states: Collection[DeliveryState] = (), *, page_size: int = 50
    ) -> AsyncIterator[WebhookDelivery]:
        """What was sent to it and what waits, newest first, fetched page by page."""
        path = f"{path_of(ENDPOINTS, endpoint)}/deliveries"
        params = (*(("state", state.value) for state in sorted(set(states))), *given(limit=page_size))
        return each_of(self._send, ApiCall("GET", path, resource(WebhookDeliveryList), params=params))

    async def job_deliveries(self, job: Job | str) -> tuple[WebhookDelivery, ...]:
        """Webhooks of a job, newest first, up to a hundred."""
        path = f"{job_path(job)}/webhook-deliveries"
        return await self._send(ApiCall("GET", path, entries(resource(WebhookDeliveryList))))

    async def delivery(self, delivery: WebhookDelivery | str) -> WebhookDeliveryDetail:
        """With what is sent and what came of the last attempts."""
        return await self._send(ApiCall("GET", path_of(DELIVERIES, delivery), resource(WebhookDeliveryDetail)))

    async def redeliver(self, delivery: WebhookDelivery | str) -> WebhookDelivery:
        """Send it again, now, with the same id and bytes."""
        path = f"{path_of(DELIVERIES, delivery)}/redeliver"
        return await self._send(ApiCall("POST", path, resource(WebhookDelivery)))

    async def job_secret(self) -> SetWebhookSecret:
        """What signs webhooks to URLs that jobs name themselves."""
        return await self._send(ApiCall("GET", OF_JOBS, resource(SetWebhookSecret)))

    async def rotate_job_secret(self, *, overlap_s: int = DAY_S) -> SetWebhookSecret:
        return await self._send(_rotation(f"{OF_JOBS}/rotate", overlap_s))


def _rotation(path: str, overlap_s: int) -> ApiCall[SetWebhookSecret]:
    return ApiCall("POST", path, shown_once(SetWebhookSecret, "rotate it once more"), body={"overlap_s": overlap_s})
