"""A spread tenant's limits, divided among its cells: what they hold now, and of the rest to each its part. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api.router.cells import Cell
from rhapsode.contract.operators.quotas import QuotaOrder, QuotaView

_NOTEWORTHY = 0.02
"""Of the whole limit: a share that is off by less stays as it is."""

_DIVIDED = ("jobs", "audio_s", "stored_bytes")
"""What counts once wherever it is. Voices are stored in each cell where jobs need them, so each has the whole limit."""


def divided(total: QuotaOrder, held: Mapping[Cell, QuotaView]) -> dict[Cell, QuotaOrder]:
    """Shares that are together the limits of `total`, by what each cell says that it holds; at least one cell."""
    cells = list(held)
    by_name = {
        name: _shares(limit, [getattr(held[cell].held, name) or 0 for cell in cells], [cell.weight for cell in cells])
        for name in _DIVIDED
        if (limit := getattr(total, name)) is not None
    }
    return {
        cell: QuotaOrder(voices=total.voices, **{name: shares[number] for name, shares in by_name.items()})
        for number, cell in enumerate(cells)
    }


def is_due(total: QuotaOrder, wanted: Mapping[Cell, QuotaOrder], now: Mapping[Cell, QuotaView]) -> bool:
    """Whether any cell's own limits are noteworthily other than wanted."""
    return any(
        _differ(getattr(order, name), getattr(now[cell].own, name), getattr(total, name))
        for cell, order in wanted.items()
        for name in QuotaOrder.model_fields
    )


def _differ(wanted: int | None, now: float | None, total: int | None) -> bool:
    if wanted is None or now is None or total is None:
        return wanted != now
    return wanted != now and abs(wanted - now) >= _NOTEWORTHY * total


def _shares(limit: int, held: Sequence[float], weights: Sequence[int]) -> list[int]:
    """Whole numbers whose sum is `limit`. Where more is held than that, each cell's part of what is held."""
    spare = limit - sum(held)
    if spare >= 0:
        parts = [has + spare * weight / sum(weights) for has, weight in zip(held, weights, strict=True)]
    else:
        parts = [limit * has / sum(held) for has in held]
    # Rounded so that what is lost before a share is made up in it.
    ends = [min(limit, round(sum(parts[: number + 1]))) for number in range(len(parts))]
    ends[-1] = limit
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
