"""`client.webhooks`: receivers of events, and deliveries to them. Receivers verify with `rhapsode.webhooks`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.resources import Job
from rhapsode.client.webhooks import calls as webhook_calls
from rhapsode.client.webhooks.calls import DAY_S, FINAL_EVENTS, EndpointFields
from rhapsode.client.webhooks.resources import CreatedWebhookEndpoint, SetWebhookSecret
from rhapsode.contract.webhooks import DeliveryState, WebhookDelivery, WebhookDeliveryDetail, WebhookEndpoint


class AsyncWebhooks:
    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(
        self,
        url: str,
        events: Sequence[str] = FINAL_EVENTS,
        *,
        description: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> CreatedWebhookEndpoint:
        """Register a receiver; ("*",) for every event. Its `secret` is in this answer and nowhere else."""
        order = EndpointFields(url, events, description, metadata or {})
        return await self._send(webhook_calls.create_endpoint(order))

    async def list(self) -> tuple[WebhookEndpoint, ...]:
        """The newest first."""
        return await self._send(webhook_calls.list_endpoints())

    async def get(self, endpoint: str) -> WebhookEndpoint:
        return await self._send(webhook_calls.get_endpoint(endpoint))

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
        changes = EndpointFields(url, events, description, metadata)
        return await self._send(webhook_calls.change_endpoint(_id(endpoint), changes))

    async def delete(self, endpoint: WebhookEndpoint | str) -> None:
        await self._send(webhook_calls.delete_endpoint(_id(endpoint)))

    async def enable(self, endpoint: WebhookEndpoint | str) -> WebhookEndpoint:
        """Send to it again, as if it had never failed."""
        return await self._send(webhook_calls.enable_endpoint(_id(endpoint)))

    async def disable(self, endpoint: WebhookEndpoint | str) -> WebhookEndpoint:
        """Send it nothing any more; what waits for it is given up."""
        return await self._send(webhook_calls.disable_endpoint(_id(endpoint)))

    async def rotate_secret(self, endpoint: WebhookEndpoint | str, *, overlap_s: int = DAY_S) -> SetWebhookSecret:
        """Another secret. For `overlap_s` webhooks are signed with the old one, too."""
        return await self._send(webhook_calls.rotate_secret(_id(endpoint), overlap_s))

    async def send_test(self, endpoint: WebhookEndpoint | str) -> WebhookDelivery:
        """Send it a `webhook_endpoint.test`; what became of it says `delivery`."""
        return await self._send(webhook_calls.send_test(_id(endpoint)))

    def deliveries(
        self, endpoint: WebhookEndpoint | str, states: Collection[DeliveryState] = (), *, page_size: int = 50
    ) -> AsyncIterator[WebhookDelivery]:
        """What was sent to it and what waits, newest first, fetched page by page."""
        named, wanted = _id(endpoint), frozenset(states)
        return each_of(self._send, lambda cursor: webhook_calls.list_deliveries(named, wanted, page_size, cursor))

    async def job_deliveries(self, job: Job | str) -> tuple[WebhookDelivery, ...]:
        """Webhooks of a job, newest first, up to a hundred."""
        return await self._send(webhook_calls.job_deliveries(job if isinstance(job, str) else job.id))

    async def delivery(self, delivery: WebhookDelivery | str) -> WebhookDeliveryDetail:
        """With what is sent and what came of the last attempts."""
        return await self._send(webhook_calls.get_delivery(_id(delivery)))

    async def redeliver(self, delivery: WebhookDelivery | str) -> WebhookDelivery:
        """Send it again, now, with the same id and bytes."""
        return await self._send(webhook_calls.redeliver(_id(delivery)))

    async def job_secret(self) -> SetWebhookSecret:
        """What signs webhooks to URLs that jobs name themselves."""
        return await self._send(webhook_calls.job_secret())

    async def rotate_job_secret(self, *, overlap_s: int = DAY_S) -> SetWebhookSecret:
        return await self._send(webhook_calls.rotate_job_secret(overlap_s))


def _id(of: WebhookEndpoint | WebhookDelivery | str) -> str:
    return of if isinstance(of, str) else of.id
