"""Requests about usage as values, and their answers. No I/O: both clients send these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal
from urllib.parse import quote

from pydantic import Field

from rhapsode.client.calls import Call, resource
from rhapsode.client.resources import Resource

Grouping = Literal["day", "key"]
GROUPINGS: tuple[Grouping, ...] = ("day", "key")


class UsageAmounts(Resource):
    """`audio_s` is of everything that was made, `cached_audio_s` the part of it that no engine had to speak."""

    segments: int
    characters: int
    audio_s: float
    cached_audio_s: float
    engine_s: float


class UsageRow(UsageAmounts):
    """`day` (UTC) and `key_id` as far as was asked for; `key_id` is None for keys without an id, too."""

    day: date | None = None
    key_id: str | None = None


class UsageReport(Resource):
    """Days without any usage have no row."""

    first: date = Field(alias="from")
    last: date = Field(alias="to")
    data: tuple[UsageRow, ...]
    total: UsageAmounts


def read_usage(
    first: date | None, last: date | None, group_by: Sequence[Grouping], tenant: str | None
) -> Call[UsageReport]:
    """tenant: None for the caller's own; others are for operators."""
    path = "/v1/usage" if tenant is None else f"/v1/admin/tenants/{quote(tenant, safe='')}/usage"
    days = (("from", first), ("to", last))
    params = tuple((name, day.isoformat()) for name, day in days if day is not None)
    return Call("GET", path, resource(UsageReport), params=params + tuple(("group_by", each) for each in group_by))
