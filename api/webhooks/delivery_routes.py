"""Deliveries to receivers, their results, and redelivery."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import KnownJobId, Links, Services, Tenant, id_like
from api.http.cursors import PageQuery, decode_cursor, encode_cursor
from api.http.problems.problem import problem
from api.services.container import ApiServices
from api.webhooks.endpoint_routes import KnownEndpointId
from api.webhooks.view import shown_delivery, shown_detail
from rhapsode.contract import webhooks as schemas
from rhapsode.contract.webhooks import DeliveryState
from storage.ids import DELIVERY_ID, DeliveryId, TenantId

router = APIRouter(prefix="/v1", tags=["webhooks"], route_class=IdempotentRoute)

KnownDeliveryId = Annotated[DeliveryId, id_like(DELIVERY_ID, "delivery")]


class DeliveryListQuery(PageQuery):
    state: list[DeliveryState] = Field(default=[], max_length=len(DeliveryState))


@router.get("/webhook-endpoints/{endpoint_id}/deliveries", response_model=schemas.WebhookDeliveryList)
def list_deliveries(
    tenant: Tenant, services: Services, endpoint_id: KnownEndpointId, parameters: Annotated[DeliveryListQuery, Query()]
) -> schemas.WebhookDeliveryList:
    """Newest first: the last thousand that ended, for a week, and whatever waits."""
    after = decode_cursor(parameters.cursor, DELIVERY_ID)
    page = services.webhooks.store.list_deliveries(
        tenant, endpoint_id, frozenset(parameters.state), DeliveryId(after) if after else None, parameters.limit
    )
    cursor = encode_cursor(page.next_after) if page.next_after else None
    data = [shown_delivery(each) for each in page.entries]
    return schemas.WebhookDeliveryList(data=tuple(data), next_cursor=cursor, has_more=cursor is not None)


@router.post(
    "/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/redeliver",
    status_code=202,
    response_model=schemas.WebhookDelivery,
)
def redeliver_to_endpoint(
    tenant: Tenant, services: Services, endpoint_id: KnownEndpointId, delivery_id: KnownDeliveryId
) -> schemas.WebhookDelivery:
    """As `/v1/webhook-deliveries/{id}/redeliver`, for a delivery of this endpoint."""
    services.webhooks.store.get(tenant, endpoint_id)
    if services.webhooks.store.delivery(tenant, delivery_id).endpoint != endpoint_id:
        raise problem("not_found", f"there is no delivery {delivery_id} to {endpoint_id}")
    return _sent_again(services, tenant, delivery_id)


@router.get("/webhook-deliveries/{delivery_id}", response_model=schemas.WebhookDeliveryDetail)
def get_delivery(
    tenant: Tenant, services: Services, links: Links, delivery_id: KnownDeliveryId
) -> schemas.WebhookDeliveryDetail:
    """With the payload and the last attempts."""
    record, attempts = services.webhooks.store.delivery_with_attempts(tenant, delivery_id)
    return shown_detail(record, attempts, links.base)


@router.post("/webhook-deliveries/{delivery_id}/redeliver", status_code=202, response_model=schemas.WebhookDelivery)
def redeliver(tenant: Tenant, services: Services, delivery_id: KnownDeliveryId) -> schemas.WebhookDelivery:
    """Send it again now, with the same id and content, and all attempts."""
    return _sent_again(services, tenant, delivery_id)


@router.get("/jobs/{job_id}/webhook-deliveries", response_model=schemas.WebhookDeliveryList)
def list_job_deliveries(tenant: Tenant, services: Services, job_id: KnownJobId) -> schemas.WebhookDeliveryList:
    """Webhooks of this job, newest first, up to a hundred; also of a deleted job."""
    data = [shown_delivery(each) for each in services.webhooks.store.job_deliveries(tenant, job_id)]
    if not data:
        # No webhook was sent, or there is no such job.
        services.jobs.store.get(tenant, job_id)
    return schemas.WebhookDeliveryList(data=tuple(data), next_cursor=None, has_more=False)


def _sent_again(services: ApiServices, tenant: TenantId, delivery: DeliveryId) -> schemas.WebhookDelivery:
    record = services.webhooks.store.redeliver(tenant, delivery)
    services.tickets.send(services.webhooks.queue.due())
    return shown_delivery(record)
