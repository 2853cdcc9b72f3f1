"""`GET /metrics`: this process and the whole system, for Prometheus."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from api.access.authentication import identify, is_from_this_machine
from api.dependencies import Services
from api.operators.fleet_metrics import FleetMetrics
from api.settings import MetricsAccess
from storage.runtime.observability.metrics import SnapshotCollector, collect

router = APIRouter(tags=["health"])

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def _may_scrape(request: Request, services: Services) -> None:
    """As the settings say: a key with the scope `admin`, or this machine without one, or anybody."""
    match services.settings.metrics_access:
        case MetricsAccess.OPEN:
            return
        case MetricsAccess.LOOPBACK if is_from_this_machine(request):
            return
        case _:
            await identify(request, services)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text"}},
)
def metrics(services: Services, allowed: Annotated[None, Depends(_may_scrape)]) -> Response:
    """Prometheus' text format, version 0.0.4. Names and units: docker/prometheus/METRICS.md."""
    fleet = FleetMetrics(
        services.operators.queue_overviews, services.operators.worker_registry, services.settings.tenant_classes
    )
    return Response(generate_latest(_Both(SnapshotCollector(fleet.measure))), media_type=CONTENT_TYPE)


class _Both(Collector):
    """The metrics of the processes at this address and the system's, which belong to no process."""

    def __init__(self, fleet: Collector) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Metric]:
        return itertools.chain(collect(), self._fleet.collect())
