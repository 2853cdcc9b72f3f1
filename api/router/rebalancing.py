"""Divides the limits of spread tenants among their cells, again and again, as work comes to one and ends in another.

The settings say the whole, so that a router which reads while another writes can do no harm: both come to shares of the
same limits, by what the cells hold. What a cell that does not answer has is divided among the others; when it is back
it has its old share until the next round, ten seconds later at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from api.router.cells import Cell
from api.router.connections import CellConnections, CellDown, Headers
from api.router.placement import Placement
from api.router.quotas import divided, is_due
from api.router.tenants import whole
from rhapsode.contract.operators.quotas import QuotaOrder, QuotaView

logger = logging.getLogger(__name__)

ROUND_S = 10.0

_OK = 200

Answer = TypeVar("Answer")


class QuotaRefused(Exception):
    """A cell takes no limits from this router, or shows it none."""


@dataclass(frozen=True, slots=True)
class Rebalancing:
    """quotas: by tenant, over all its cells. operator_key: an API key of an operator in every cell."""

    placement: Placement
    cells: Mapping[str, CellConnections]
    quotas: Mapping[str, QuotaOrder]
    operator_key: str

    async def run(self) -> None:
        """Until it is cancelled; at once if there is nothing to divide."""
        while self.quotas:
            await asyncio.gather(*(self._settled(tenant, total) for tenant, total in self.quotas.items()))
            await asyncio.sleep(ROUND_S)

    async def _settled(self, tenant: str, total: QuotaOrder) -> None:
        try:
            await self.divide(tenant, total)
        except (CellDown, QuotaRefused) as error:
            logger.warning("limits are not divided anew", extra={"tenant": tenant, "error": str(error)})

    async def divide(self, tenant: str, total: QuotaOrder) -> None:
        """Raises `CellDown` where none answers or one goes meanwhile, and `QuotaRefused`."""
        homes = self.placement.homes(tenant)
        views = await all_ended(self._view(cell, tenant) for cell in homes)
        now = {cell: view for cell, view in zip(homes, views, strict=True) if view is not None}
        if not now:
            raise CellDown(homes[0].name)
        wanted = divided(total, now)
        if is_due(total, wanted, now):
            await all_ended(self._set(cell, tenant, order) for cell, order in wanted.items())

    async def _view(self, cell: Cell, tenant: str) -> QuotaView | None:
        """None of a cell that does not answer."""
        try:
            status, body = await self._ask("GET", cell, tenant)
        except CellDown:
            return None
        if status != _OK:
            raise QuotaRefused(f"the cell {cell.name} answers {status}: is RHAPSODE_OPERATOR_KEY an operator's there?")
        try:
            return QuotaView.model_validate_json(body)
        except ValidationError as error:
            raise QuotaRefused(f"the cell {cell.name} says nothing of the limits of {tenant}") from error

    async def _set(self, cell: Cell, tenant: str, order: QuotaOrder) -> None:
        status, _ = await self._ask("PUT", cell, tenant, order.model_dump_json().encode())
        if status != _OK:
            raise QuotaRefused(f"the cell {cell.name} answers {status} to the limits of {tenant}")

    async def _ask(self, method: str, cell: Cell, tenant: str, body: bytes = b"") -> tuple[int, bytes]:
        target = f"/v1/admin/tenants/{tenant}/quotas".encode()
        async with self.cells[cell.name].send(method, target, self._headers(body), body) as answer:
            return answer.status, await whole(answer, cell.name)

    def _headers(self, body: bytes) -> Headers:
        return [
            (b"host", b"localhost"),
            (b"authorization", b"Bearer " + self.operator_key.encode()),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]


async def all_ended(calls: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """Side by side. Raises what the first of them raised once all have ended: none goes on over a closed connection."""
    answers: list[Answer] = []
    for ended in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        answers.append(ended)
    return answers
