"""What tenants may hold, as bodies of requests and answers: the public contract."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rhapsode.contract.base import Answer, RequestBody

MOST = 2**53 - 1
"""Beyond it numbers of JSON, and of the functions in Redis, are not exact."""

Limit = Annotated[int, Field(ge=0, le=MOST)]


class QuotaOrder(RequestBody):
    """A tenant's own limits; what is left out, or null, is as for all tenants.

    `jobs` and `audio_s` are of unfinished jobs.
    """

    jobs: Limit | None = None
    audio_s: Annotated[int, Field(ge=0, le=MOST // 1000)] | None = None
    voices: Limit | None = None


class QuotaAmounts(Answer):
    """As `QuotaOrder` has them; null: none of the tenant's own."""

    jobs: int | None
    audio_s: float | None
    voices: int | None


class QuotaView(Answer):
    """`limits` are in force; `own` are those of them that are this tenant's alone, null for the others.

    `held` is what counts against them now.
    """

    object: Literal["quotas"] = "quotas"
    tenant: str
    limits: QuotaAmounts
    own: QuotaAmounts
    held: QuotaAmounts
