"""Which cell answers a request: by the id in its address, else by whose it is; some questions go to all of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from starlette.types import Scope

from api.http.problems.problem import Problem, not_found, state_conflict
from api.router.addresses import ADMIN, OWNED, can_be_spread, cell_named, plain_resource
from api.router.cells import Cell
from api.router.connections import CellConnections, CellDown, Headers
from api.router.forwarding import CELL
from api.router.placement import Placement, place
from api.router.tenants import Tenants, asking_headers, whole

A = TypeVar("A")

_REFUSED = 400
_GONE = 410
_NOT_HERE = frozenset({401, 403, 404})
"""What a cell says of an id that is another's: its key may be one of that other cell, too."""

_NO_TENANT = ""
"""Of a request whose key no cell knows: the one that it goes to refuses it."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Holds nothing that a router which starts anew would miss."""

    placement: Placement
    cells: Mapping[str, CellConnections]
    tenants: Tenants

    async def cell_for(self, scope: Scope, secret: bytes | None) -> CellConnections:
        """Raises `CellDown`, and the `Problem` that there is no such cell or that one has to be named."""
        path: str = scope["path"]
        named = _header(scope, CELL) or cell_named(path, scope["query_string"])
        if named is not None:
            return self._known(named)
        if not path.startswith(OWNED):
            return self._any()
        if path.startswith(ADMIN):
            raise _cell_needed(f"{path} is of one cell", self.cells)
        tenant = await self.tenants.tenant_of(scope) or _NO_TENANT
        plain = plain_resource(path)
        if plain is not None and (found := await self._holder(scope, plain, tenant, secret)):
            return found
        return self._placed(scope, tenant, plain)

    async def ordered(self, scope: Scope) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        """The cells that a tenant's new things go to, and all others. Raises as `Tenants.tenant_of`."""
        tenant = await self.tenants.tenant_of(scope) or _NO_TENANT
        homes = self.placement.homes(tenant)
        return homes, self.placement.every_cell(tenant)[len(homes) :]

    async def ask(self, cells: Sequence[Cell], targets: Mapping[str, bytes], headers: Headers) -> dict[str, Asked]:
        """What each says; those that are down are left out of it."""
        answers = await asyncio.gather(
            *(_ask(self.cells[cell.name], targets[cell.name], headers) for cell in cells), return_exceptions=True
        )
        asked: dict[str, Asked] = {}
        for cell, answer in zip(cells, answers, strict=True):
            match answer:
                case Asked():
                    asked[cell.name] = answer
                case CellDown():
                    pass
                case BaseException():
                    raise answer
        return asked

    def _known(self, name: str) -> CellConnections:
        if name not in self.cells:
            raise not_found(f"there is no cell {name[:20]!r}")
        return self.cells[name]

    def _any(self) -> CellConnections:
        """Of what every cell has, the page first of all: always the same one, so that its parts fit together."""
        active = [self.cells[cell.name] for cell in self.placement.fleet.active]
        return next((cell for cell in active if not cell.is_shunned), active[0])

    async def _holder(self, scope: Scope, resource: str, tenant: str, secret: bytes | None) -> CellConnections | None:
        """The cell that has what bears an id without one; None if none has it. Raises `CellDown` if one cannot say."""
        order = self.placement.every_cell(tenant)
        targets = {cell.name: resource.encode() for cell in order}
        asked = await self.ask(order, targets, asking_headers(scope, secret))
        holder = next((name for name, each in asked.items() if each.status < _REFUSED or each.status == _GONE), None)
        if holder is not None:
            return self.cells[holder]
        silent = next((name for name in targets if name not in asked or asked[name].status not in _NOT_HERE), None)
        if silent is not None:
            raise CellDown(silent)
        return None

    def _placed(self, scope: Scope, tenant: str, plain: str | None) -> CellConnections:
        homes = self.placement.homes(tenant)
        if len(homes) == 1:
            return self.cells[homes[0].name]
        if plain is None and not can_be_spread(scope["method"], scope["path"]):
            names = {cell.name: cell for cell in homes}
            raise _cell_needed("your jobs are spread over several cells, and what you store is of one of them", names)
        key = plain or _header(scope, b"idempotency-key")
        if key is not None:
            # A repeat has to come to the cell that knows of the first.
            return self.cells[place(homes, tenant, key).name]
        up = [home for home in homes if not self.cells[home.name].is_shunned]
        return self.cells[place(up or homes, tenant, uuid.uuid4().hex).name]


@dataclass(frozen=True, slots=True)
class Asked:
    """A cell's answer to a question of the router's own."""

    status: int
    headers: Headers
    body: bytes


async def _ask(cell: CellConnections, target: bytes, headers: Headers) -> Asked:
    async with cell.send("GET", target, headers) as answer:
        return Asked(answer.status, answer.headers, await whole(answer, cell.cell.name))


def _header(scope: Scope, name: bytes) -> str | None:
    value = next((value for key, value in scope["headers"] if key == name), None)
    return None if value is None else value.decode("latin-1")


def _cell_needed(why: str, cells: Mapping[str, object]) -> Problem:
    return state_conflict(f"{why}: name it in the header Rhapsode-Cell; there are {', '.join(cells)}")
