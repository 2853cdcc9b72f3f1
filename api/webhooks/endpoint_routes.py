"""Receivers of webhooks: register, read, change, rotate, test, disable, delete. The secret for URLs that jobs name."""

from __future__ import annotations

import uuid
from typing import Annotated

from fastapi import APIRouter, Response

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, Links, OptionalJsonBytes, Services, Tenant, id_like
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.services.container import ApiServices
from api.webhooks.view import last_expiry, shown_delivery, shown_endpoint
from rhapsode.contract import webhooks as schemas
from rhapsode.contract.webhooks import EndpointChange, EndpointOrder, EndpointState, RotateOrder
from storage.ids import ENDPOINT_ID, EndpointId, TenantId, new_endpoint_id
from storage.webhooks.records import EndpointUpdate, NewEndpoint, SealedSecret

router = APIRouter(prefix="/v1", tags=["webhooks"], route_class=IdempotentRoute)

KnownEndpointId = Annotated[EndpointId, id_like(ENDPOINT_ID, "webhook endpoint")]


@router.post(
    "/webhook-endpoints",
    status_code=201,
    response_model=schemas.NewWebhookEndpoint,
    openapi_extra=json_body(EndpointOrder),
)
def post_endpoint(tenant: Tenant, services: Services, links: Links, body: JsonBytes, response: Response) -> object:
    """Register a receiver. Its secret is in this answer and in no other."""
    order = parse_body(EndpointOrder, body)
    services.webhooks.check_url(order.url)
    endpoint = new_endpoint_id()
    secret, sealed = services.webhooks.seal(endpoint)
    record = services.webhooks.store.create(
        NewEndpoint(
            id=endpoint,
            tenant=tenant,
            url=order.url,
            events=tuple(order.events),
            sealed_secret=sealed,
            api_url=links.base,
            description=order.description,
            metadata=order.metadata,
        )
    )
    response.headers["Location"] = f"{links.base}/v1/webhook-endpoints/{endpoint}"
    return schemas.NewWebhookEndpoint(**shown_endpoint(record).model_dump(), secret=secret)


@router.get("/webhook-endpoints", response_model=schemas.WebhookEndpointList)
def list_endpoints(tenant: Tenant, services: Services) -> schemas.WebhookEndpointList:
    """All receivers, newest first; a tenant has at most fifty."""
    return schemas.WebhookEndpointList(
        data=tuple(shown_endpoint(each) for each in services.webhooks.store.list(tenant))
    )


@router.get("/webhook-endpoints/{endpoint_id}", response_model=schemas.WebhookEndpoint)
def get_endpoint(tenant: Tenant, services: Services, endpoint_id: KnownEndpointId) -> schemas.WebhookEndpoint:
    return shown_endpoint(services.webhooks.store.get(tenant, endpoint_id))


@router.patch(
    "/webhook-endpoints/{endpoint_id}", response_model=schemas.WebhookEndpoint, openapi_extra=json_body(EndpointChange)
)
def patch_endpoint(
    tenant: Tenant, services: Services, endpoint_id: KnownEndpointId, body: JsonBytes
) -> schemas.WebhookEndpoint:
    """Waiting webhooks go to the new URL."""
    change = parse_body(EndpointChange, body)
    if change.url is not None:
        services.webhooks.check_url(change.url)
    events = None if change.events is None else tuple(change.events)
    changes = EndpointUpdate(change.url, events, change.description, change.metadata)
    return shown_endpoint(services.webhooks.store.update(tenant, endpoint_id, changes))


@router.delete("/webhook-endpoints/{endpoint_id}", status_code=204)
def delete_endpoint(tenant: Tenant, services: Services, endpoint_id: KnownEndpointId) -> None:
    """Its waiting webhooks are discarded. A repeat is no error."""
    services.webhooks.store.delete(tenant, endpoint_id)


@router.post("/webhook-endpoints/{endpoint_id}/enable", response_model=schemas.WebhookEndpoint)
def enable_endpoint(tenant: Tenant, services: Services, endpoint_id: KnownEndpointId) -> schemas.WebhookEndpoint:
    """Send to it again, without its earlier failures. Failed webhooks can be redelivered."""
    return _with_state(services, tenant, endpoint_id, EndpointState.ENABLED)


@router.post("/webhook-endpoints/{endpoint_id}/disable", response_model=schemas.WebhookEndpoint)
def disable_endpoint(tenant: Tenant, services: Services, endpoint_id: KnownEndpointId) -> schemas.WebhookEndpoint:
    """Stop sending to it. Its waiting webhooks fail."""
    return _with_state(services, tenant, endpoint_id, EndpointState.DISABLED)


@router.post(
    "/webhook-endpoints/{endpoint_id}/rotate-secret",
    response_model=schemas.RotatedSecret,
    openapi_extra=json_body(RotateOrder, required=False),
)
def rotate_secret(
    tenant: Tenant, services: Services, endpoint_id: KnownEndpointId, body: OptionalJsonBytes
) -> schemas.RotatedSecret:
    """Another secret. For a day, or as long as asked for, webhooks are signed with the old one, too."""
    order = parse_body(RotateOrder, body) if body else RotateOrder()
    secret, sealed = services.webhooks.seal(endpoint_id)
    secrets = services.webhooks.store.rotate(tenant, endpoint_id, sealed, order.overlap_s)
    return schemas.RotatedSecret(id=endpoint_id, secret=secret, old_secrets_expire_at=last_expiry(secrets))


@router.post("/webhook-endpoints/{endpoint_id}/test", status_code=202, response_model=schemas.WebhookDelivery)
def test_endpoint(tenant: Tenant, services: Services, endpoint_id: KnownEndpointId) -> schemas.WebhookDelivery:
    """Send it a `webhook_endpoint.test`, whatever events it chose; the answer is the delivery, to be read again."""
    record = services.webhooks.store.send_test(tenant, endpoint_id, uuid.uuid4().hex)
    services.tickets.send(services.webhooks.queue.due())
    return shown_delivery(record)


def _with_state(
    services: ApiServices, tenant: TenantId, endpoint: EndpointId, state: EndpointState
) -> schemas.WebhookEndpoint:
    return shown_endpoint(services.webhooks.store.update(tenant, endpoint, EndpointUpdate(state=state)))


@router.get("/webhook-secret", response_model=schemas.WebhookSecret)
def get_secret(tenant: Tenant, services: Services) -> schemas.WebhookSecret:
    """What signs webhooks to URLs that jobs name. Unlike an endpoint's it is shown again: nothing else hands it out."""
    secrets = services.webhooks.store.tenant_secrets(tenant, services.webhooks.seal(tenant)[1])
    return _shown_secret(services, tenant, secrets)


@router.post(
    "/webhook-secret/rotate", response_model=schemas.WebhookSecret, openapi_extra=json_body(RotateOrder, required=False)
)
def rotate_tenant_secret(tenant: Tenant, services: Services, body: OptionalJsonBytes) -> schemas.WebhookSecret:
    order = parse_body(RotateOrder, body) if body else RotateOrder()
    sealed = services.webhooks.seal(tenant)[1]
    return _shown_secret(services, tenant, services.webhooks.store.rotate_tenant(tenant, sealed, order.overlap_s))


def _shown_secret(services: ApiServices, tenant: TenantId, secrets: tuple[SealedSecret, ...]) -> schemas.WebhookSecret:
    secret = services.webhooks.open(secrets[0].sealed, tenant)
    return schemas.WebhookSecret(secret=secret, old_secrets_expire_at=last_expiry(secrets))
