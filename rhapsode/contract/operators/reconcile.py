"""Bringing back what a restored Redis does not know, step by step."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rhapsode.contract.base import Answer, RequestBody

CURSOR = r"^journal/[a-z0-9-]+/[0-9-]{10}/[0-9a-z]{26}\.jsonl$"


class ReconcileOrder(RequestBody):
    """`cursor`: `next_cursor` of the step before; without one it begins."""

    cursor: str | None = Field(default=None, max_length=200, pattern=CURSOR)


class ReconcileView(Answer):
    """One step. `next_cursor` is null after the last one.

    `jobs_restored`: that Redis did not know; `jobs_marked`: unfinished ones whose segments are looked for in the store;
    `jobs_gone`: that were deleted since; `counters_mended`: that differed from an audit, which the last step makes.
    """

    object: Literal["reconcile_step"] = "reconcile_step"
    next_cursor: str | None
    jobs_seen: int
    jobs_restored: int
    jobs_marked: int
    jobs_gone: int
    counters_mended: int
