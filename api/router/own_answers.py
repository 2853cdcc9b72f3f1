"""What a router answers itself: whether it lives, whether it could pass on a job, what it measured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from api.access.authentication import is_from_this_machine
from api.http.problems.problem import forbidden
from api.operators.metrics_routes import CONTENT_TYPE
from api.router.cells import Cell
from api.router.routing import Routing
from api.router.settings import RouterSettings
from api.settings import MetricsAccess
from rhapsode.contract.health import Health, Readiness, RouterReadiness
from storage.runtime.observability.metrics import collect

router = APIRouter(tags=["health"])

READY_WAIT_S = 2.5
"""A cell takes two seconds itself to find that its store is away."""


@router.head("/livez", include_in_schema=False)
@router.get("/livez", response_model=Health)
async def is_alive() -> Health:
    return Health()


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=RouterReadiness)
@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=RouterReadiness)
async def is_ready(request: Request, response: Response) -> RouterReadiness:
    """200 while a cell that takes new work is ready; one that is away costs its own tenants alone."""
    routing: Routing = request.app.state.routing
    cells = tuple(routing.placement.fleet)
    each = dict(zip(cells, await asyncio.gather(*(_readiness(routing, cell) for cell in cells)), strict=True))
    together = _together(each)
    response.status_code = 200 if together.status == "ready" else 503
    return together


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Of this process, to this machine alone unless `RHAPSODE_METRICS_ACCESS` is `open`."""
    settings: RouterSettings = request.app.state.settings
    if settings.metrics_access is not MetricsAccess.OPEN and not is_from_this_machine(request):
        raise forbidden("a router's metrics are for its own machine; RHAPSODE_METRICS_ACCESS=open shows them to others")
    return Response(generate_latest(_Process()), media_type=CONTENT_TYPE)


class _Process(Collector):
    def collect(self) -> Iterable[Metric]:
        return collect()


async def _readiness(routing: Routing, cell: Cell) -> Readiness | None:
    """None of a cell that does not answer in time."""
    try:
        async with asyncio.timeout(READY_WAIT_S):
            asked = await routing.ask([cell], {cell.name: b"/readyz"}, [(b"host", b"localhost")])
    except TimeoutError:
        return None
    return Readiness.model_validate_json(asked[cell.name].body) if cell.name in asked else None


def _together(each: Mapping[Cell, Readiness | None]) -> RouterReadiness:
    ready = [said for said in each.values() if said is not None and said.status == "ready"]
    is_ready = any(_state(cell, said) == "ready" for cell, said in each.items())
    return RouterReadiness(
        status="ready" if is_ready else "unavailable",
        redis="ok" if ready else "unavailable",
        store="ok" if ready else "unavailable",
        threads="ok" if any(said.threads == "ok" for said in ready) else "busy",
        models=tuple(sorted({model for said in ready for model in said.models or ()})) if ready else None,
        claims=("open" if any(said.claims == "open" for said in ready) else "held") if ready else None,
        cells={cell.name: _state(cell, said) for cell, said in each.items()},
    )


def _state(cell: Cell, said: Readiness | None) -> Literal["ready", "draining", "unavailable"]:
    if said is None or said.status != "ready":
        return "unavailable"
    return "draining" if cell.is_draining else "ready"
