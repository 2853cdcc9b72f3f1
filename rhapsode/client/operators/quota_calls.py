"""Requests about quotas as values, and their answers. No I/O: both clients send these."""

from __future__ import annotations

from typing import Unpack
from urllib.parse import quote

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.client.plain_json import plain_json
from rhapsode.client.request_options import QuotaLimits
from rhapsode.contract.operators.quotas import QuotaView


def read_quotas(tenant: str | None) -> ApiCall[QuotaView]:
    """tenant: None for the caller's own; others are for operators."""
    return ApiCall("GET", "/v1/quotas" if tenant is None else _path(tenant), resource(QuotaView))


def set_quotas(tenant: str, **limits: Unpack[QuotaLimits]) -> ApiCall[QuotaView]:
    return ApiCall("PUT", _path(tenant), resource(QuotaView), body=plain_json(limits))


def reset_quotas(tenant: str) -> ApiCall[None]:
    return ApiCall("DELETE", _path(tenant), nothing)


def _path(tenant: str) -> str:
    return f"/v1/admin/tenants/{quote(tenant, safe='')}/quotas"
