"""What several cells counted, as one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TypeVar

from rhapsode.contract.operators.quotas import QuotaAmounts, QuotaView
from rhapsode.contract.operators.usage import UsageAmounts, UsageReport, UsageRow

N = TypeVar("N", int, float)


def merged_usage(reports: Sequence[UsageReport]) -> UsageReport:
    """Of the same days; rows of the same day and key become one."""
    groups: dict[tuple[date | None, str | None], list[UsageRow]] = {}
    for report in reports:
        for row in report.data:
            groups.setdefault((row.day, row.key_id), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0] or date.min, item[0][1] or ""))
    rows = (UsageRow(day=day, key_id=key, **_total(rows).model_dump()) for (day, key), rows in ordered)
    return UsageReport(
        first=reports[0].first, last=reports[0].last, data=tuple(rows), total=_total(each.total for each in reports)
    )


def merged_quotas(homes: Sequence[QuotaView], others: Sequence[QuotaView]) -> QuotaView:
    """A tenant's limits are those of its homes together; what it holds, it holds anywhere."""
    return QuotaView(
        tenant=homes[0].tenant,
        limits=_together([view.limits for view in homes]),
        own=_together([view.own for view in homes]),
        held=_together([view.held for view in (*homes, *others)]),
    )


def _total(amounts: Iterable[UsageAmounts]) -> UsageAmounts:
    given = list(amounts)
    return UsageAmounts(
        segments=sum(each.segments for each in given),
        characters=sum(each.characters for each in given),
        audio_s=sum(each.audio_s for each in given),
        cached_audio_s=sum(each.cached_audio_s for each in given),
        engine_s=sum(each.engine_s for each in given),
    )


def _together(amounts: Sequence[QuotaAmounts]) -> QuotaAmounts:
    return QuotaAmounts(
        jobs=_sum([each.jobs for each in amounts]),
        audio_s=_sum([each.audio_s for each in amounts]),
        voices=_sum([each.voices for each in amounts]),
        stored_bytes=_sum([each.stored_bytes for each in amounts]),
    )


def _sum(amounts: Sequence[N | None]) -> N | None:
    """None, which is no limit, beside any other is no limit."""
    given = [each for each in amounts if each is not None]
    return sum(given[1:], start=given[0]) if given and len(given) == len(amounts) else None
