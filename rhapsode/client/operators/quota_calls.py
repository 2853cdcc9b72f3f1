"""Requests about quotas as values, and their answers. No I/O: both clients send these."""

from __future__ import annotations

from typing import TypedDict, Unpack
from urllib.parse import quote

from pydantic import JsonValue

from rhapsode.client.calls import Call, nothing, resource
from rhapsode.client.resources import Resource


class QuotaAmounts(Resource):
    """`jobs` and `audio_s` of unfinished jobs; `stored_bytes` of all objects. None: no limit, or none of its own."""

    jobs: int | None
    audio_s: float | None
    voices: int | None
    stored_bytes: int | None


class Quotas(Resource):
    """`limits` are in force, `own` those of them that are this tenant's alone, `held` what counts against them."""

    tenant: str
    limits: QuotaAmounts
    own: QuotaAmounts
    held: QuotaAmounts


class QuotaLimits(TypedDict, total=False):
    """What is left out is as for all tenants."""

    jobs: int | None
    audio_s: int | None
    voices: int | None
    stored_bytes: int | None


def read_quotas(tenant: str | None) -> Call[Quotas]:
    """tenant: None for the caller's own; others are for operators."""
    return Call("GET", "/v1/quotas" if tenant is None else _path(tenant), resource(Quotas))


def set_quotas(tenant: str, **limits: Unpack[QuotaLimits]) -> Call[Quotas]:
    body: dict[str, JsonValue] = {
        "jobs": limits.get("jobs"),
        "audio_s": limits.get("audio_s"),
        "voices": limits.get("voices"),
        "stored_bytes": limits.get("stored_bytes"),
    }
    return Call("PUT", _path(tenant), resource(Quotas), body=body)


def reset_quotas(tenant: str) -> Call[None]:
    return Call("DELETE", _path(tenant), nothing)


def _path(tenant: str) -> str:
    return f"/v1/admin/tenants/{quote(tenant, safe='')}/quotas"
