"""Requests about usage as values, and their answers. No I/O: both clients send these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from urllib.parse import quote

from rhapsode.client.calls import ApiCall, resource
from rhapsode.contract.operators.usage import Grouping, UsageReport

GROUPINGS: tuple[Grouping, ...] = ("day", "key")


def read_usage(
    first: date | None, last: date | None, group_by: Sequence[Grouping], tenant: str | None
) -> ApiCall[UsageReport]:
    """tenant: None for the caller's own; others are for operators."""
    path = "/v1/usage" if tenant is None else f"/v1/admin/tenants/{quote(tenant, safe='')}/usage"
    days = (("from", first), ("to", last))
    params = tuple((name, day.isoformat()) for name, day in days if day is not None)
    return ApiCall("GET", path, resource(UsageReport), params=params + tuple(("group_by", each) for each in group_by))
