"""Requests about quotas as values, and their answers. No I/O: both clients send these."""

from __future__ import annotations

from typing import TypedDict, Unpack
from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import Call, nothing, resource
from rhapsode.contract.operators.quotas import QuotaView


class QuotaLimits(TypedDict, total=False):
    """What is left out is as for all tenants."""

    jobs: int | None
    audio_s: int | None
    voices: int | None
    stored_bytes: int | None


def read_quotas(tenant: str | None) -> Call[QuotaView]:
    """tenant: None for the caller's own; others are for operators."""
    return Call("GET", "/v1/quotas" if tenant is None else _path(tenant), resource(QuotaView))


def set_quotas(tenant: str, **limits: Unpack[QuotaLimits]) -> Call[QuotaView]:
    body: dict[str, JsonValue] = {
        "jobs": limits.get("jobs"),
        "audio_s": limits.get("audio_s"),
        "voices": limits.get("voices"),
        "stored_bytes": limits.get("stored_bytes"),
    }
    return Call("PUT", _path(tenant), resource(QuotaView), body=body)


def reset_quotas(tenant: str) -> Call[None]:
    return Call("DELETE", _path(tenant), nothing)


def _path(tenant: str) -> str:
    return f"/v1/admin/tenants/{quote(tenant, safe='')}/quotas"
