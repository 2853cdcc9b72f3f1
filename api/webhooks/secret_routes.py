"""The secret that signs webhooks to URLs that jobs name."""

from __future__ import annotations

from fastapi import APIRouter

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.services.container import ApiServices
from api.webhooks.view import last_expiry
from rhapsode.contract import webhooks as schemas
from rhapsode.contract.webhooks import RotateOrder
from storage.ids import TenantId
from storage.webhooks.records import SealedSecret

router = APIRouter(prefix="/v1/webhook-secret", tags=["webhooks"], route_class=IdempotentRoute)


@router.get("", response_model=schemas.WebhookSecret)
def get_secret(tenant: Tenant, services: Services) -> schemas.WebhookSecret:
    """What signs webhooks to URLs that jobs name. Unlike an endpoint's it is shown again: nothing else hands it out."""
    secrets = services.webhooks.store.tenant_secrets(tenant, services.webhooks.seal(tenant)[1])
    return _shown_secret(services, tenant, secrets)


@router.post("/rotate", response_model=schemas.WebhookSecret, openapi_extra=json_body(RotateOrder, required=False))
def rotate_tenant_secret(tenant: Tenant, services: Services, body: OptionalJsonBytes) -> schemas.WebhookSecret:
    order = parse_body(RotateOrder, body) if body else RotateOrder()
    sealed = services.webhooks.seal(tenant)[1]
    return _shown_secret(services, tenant, services.webhooks.store.rotate_tenant(tenant, sealed, order.overlap_s))


def _shown_secret(services: ApiServices, tenant: TenantId, secrets: tuple[SealedSecret, ...]) -> schemas.WebhookSecret:
    secret = services.webhooks.open(secrets[0].sealed, tenant)
    return schemas.WebhookSecret(secret=secret, old_secrets_expire_at=last_expiry(secrets))
