"""How much was made, as JSON or as a table, and limits: of the tenant that asks, and of any tenant for operators."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.dependencies import JsonBytes, KnownTenant, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.http.problems.problem import FieldViolation, HttpProblem, invalid
from api.services.container import ApiServices
from rhapsode.contract.operators.quotas import QuotaAmounts, QuotaOrder, QuotaView
from rhapsode.contract.operators.usage import Grouping, UsageAmounts, UsageQuery, UsageReport, UsageRow
from storage.ids import TenantId
from storage.jobs.record import KEPT_DAYS
from storage.tenants.quotas import OwnQuotas, Quotas
from storage.tenants.usage import Amounts, DayUsage, total

router = APIRouter(tags=["usage"])

DEFAULT_DAYS = 30

_CSV = "text/csv; charset=utf-8"
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string", "description": "`data` of the JSON, with a header"}}}}
}
_COLUMNS = ("day", "key_id", *UsageAmounts.model_fields)


@router.get("/v1/usage", response_model=UsageReport, responses=_CONTENT)
def get_usage(tenant: Tenant, services: Services, parameters: Annotated[UsageQuery, Query()]) -> UsageReport | Response:
    """What was made for your jobs, by day and API key, counted once for each segment when it was stored."""
    return _answer(services, tenant, parameters)


@router.get("/v1/admin/tenants/{tenant_name}/usage", response_model=UsageReport, responses=_CONTENT)
def get_tenant_usage(
    operator: Tenant, services: Services, tenant_name: KnownTenant, parameters: Annotated[UsageQuery, Query()]
) -> UsageReport | Response:
    """As `GET /v1/usage`, of any tenant."""
    return _answer(services, tenant_name, parameters)


def _answer(services: ApiServices, tenant: TenantId, parameters: UsageQuery) -> UsageReport | Response:
    first, last = _days(parameters)
    found = services.operators.usage.read(tenant, first, last)
    rows = _rows(found, parameters.group_by)
    if parameters.format == "csv":
        return Response(
            _table(rows), media_type=_CSV, headers={"Content-Disposition": 'attachment; filename="usage.csv"'}
        )
    return UsageReport(first=first, last=last, data=tuple(rows), total=UsageAmounts(**_shown(total(found))))


def _days(parameters: UsageQuery) -> tuple[date, date]:
    """Raises the `HttpProblem` of days in the wrong order, or of more than are kept."""
    last = parameters.last or datetime.now(UTC).date()
    if last < date.min + timedelta(days=DEFAULT_DAYS):
        raise _out_of_range("to", "nothing was counted then")
    first = parameters.first or last - timedelta(days=DEFAULT_DAYS - 1)
    if first > last:
        raise _out_of_range("from", f"{first} is after {last}, the last day")
    if (last - first).days >= KEPT_DAYS:
        raise _out_of_range("from", f"one answer covers at most {KEPT_DAYS} days, as many as are kept")
    return first, last


def _out_of_range(parameter: str, detail: str) -> HttpProblem:
    return invalid([FieldViolation("out_of_range", detail, parameter=parameter)])


def _rows(found: Iterable[DayUsage], group_by: Sequence[Grouping]) -> list[UsageRow]:
    groups: dict[tuple[date | None, str | None], Amounts] = {}
    for usage in found:
        group = (usage.day if "day" in group_by else None, (usage.key_id or None) if "key" in group_by else None)
        groups[group] = groups.get(group, Amounts()) + usage.amounts
    return [UsageRow(day=day, key_id=key_id, **_shown(amounts)) for (day, key_id), amounts in groups.items()]


def _shown(amounts: Amounts) -> dict[str, Any]:
    return {
        "segments": amounts.segments,
        "characters": amounts.characters,
        "audio_s": amounts.audio_ms / 1000,
        "cached_audio_s": amounts.cached_audio_ms / 1000,
        "engine_s": amounts.engine_ms / 1000,
    }


def _table(rows: Iterable[UsageRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    writer.writerows([row.model_dump(mode="json")[column] for column in _COLUMNS] for row in rows)
    return text.getvalue()


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


def _amounts(quotas: Quotas | OwnQuotas) -> QuotaAmounts:
    return QuotaAmounts(
        jobs=quotas.jobs, audio_s=None if quotas.audio_ms is None else quotas.audio_ms / 1000, voices=quotas.voices
    )
