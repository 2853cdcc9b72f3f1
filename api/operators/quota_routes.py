"""Limits of tenants and their use: tenants read them, operators set them."""

from __future__ import annotations

from fastapi import APIRouter

from api.dependencies import JsonBytes, KnownTenant, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.services.container import ApiServices
from rhapsode.contract.operators.quotas import QuotaAmounts, QuotaOrder, QuotaView
from storage.ids import TenantId
from storage.tenants.quotas import OwnQuotas, Quotas, QuotaUse

router = APIRouter(tags=["usage"])


@router.get("/v1/quotas", response_model=QuotaView)
def get_quotas(tenant: Tenant, services: Services) -> QuotaView:
    """Your limits and your use."""
    return _view(services, tenant)


@router.get("/v1/admin/tenants/{tenant_name}/quotas", response_model=QuotaView)
def get_tenant_quotas(operator: Tenant, services: Services, tenant_name: KnownTenant) -> QuotaView:
    """As `GET /v1/quotas`, of any tenant."""
    return _view(services, tenant_name)


@router.put("/v1/admin/tenants/{tenant_name}/quotas", response_model=QuotaView, openapi_extra=json_body(QuotaOrder))
def put_tenant_quotas(operator: Tenant, services: Services, tenant_name: KnownTenant, body: JsonBytes) -> QuotaView:
    """Replace a tenant's limits. They apply to new requests."""
    order = parse_body(QuotaOrder, body)
    audio_ms = None if order.audio_s is None else order.audio_s * 1000
    own = OwnQuotas(jobs=order.jobs, audio_ms=audio_ms, voices=order.voices)
    services.operators.quotas.set_own(tenant_name, own)
    return _view(services, tenant_name)


@router.delete("/v1/admin/tenants/{tenant_name}/quotas", status_code=204)
def delete_tenant_quotas(operator: Tenant, services: Services, tenant_name: KnownTenant) -> None:
    """Remove a tenant's limits: the defaults apply. A repeat is no error."""
    services.operators.quotas.set_own(tenant_name, OwnQuotas())


def _view(services: ApiServices, tenant: TenantId) -> QuotaView:
    own = services.operators.quotas.own(tenant)
    in_force, held = services.operators.quotas.in_force(own), services.operators.quotas.held(tenant)
    return QuotaView(tenant=tenant, limits=_amounts(in_force), own=_amounts(own), held=_amounts(held))


def _amounts(quotas: Quotas | OwnQuotas | QuotaUse) -> QuotaAmounts:
    return QuotaAmounts(
        jobs=quotas.jobs,
        audio_s=None if quotas.audio_ms is None else quotas.audio_ms / 1000,
        voices=quotas.voices,
    )
