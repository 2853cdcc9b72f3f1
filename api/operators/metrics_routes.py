"""`GET /metrics`: this process and the whole system, for Prometheus."""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from api.access.authentication import identify, is_from_this_machine
from api.dependencies import Services
from api.services.container import OperatorServices
from api.services.fleet_view import lane_of
from api.settings import MetricsAccess
from storage.errors import StoreUnavailable
from storage.queue.overview import Overview, QueueOverview
from storage.runtime.observability.metrics import Snapshot, SnapshotCollector, collect

logger = logging.getLogger(__name__)

router = APIRouter(tags=["health"])

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def _may_scrape(request: Request, services: Services) -> None:
    """As the settings say: a key with the scope `admin`, this machine without a key, or every caller."""
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
    measure = partial(_measure_fleet, services.operators)
    return Response(generate_latest(_Both(SnapshotCollector(measure))), media_type=CONTENT_TYPE)


class _Both(Collector):
    """The metrics of the processes at this address and the system's, which belong to no process."""

    def __init__(self, fleet: Collector) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Metric]:
        return itertools.chain(collect(), self._fleet.collect())


def _measure_fleet(operators: OperatorServices, snapshot: Snapshot) -> None:
    """What is known of all processes together; without Redis only `rhapsode_fleet_up`, with 0."""
    try:
        overview, workers = operators.queue_overviews.read(), operators.worker_registry.list()
    except StoreUnavailable as error:
        logger.warning("no metrics of the fleet", extra={"error": str(error)})
        snapshot.add("rhapsode_fleet_up", 0)
        return
    snapshot.add("rhapsode_fleet_up", 1)
    for queue in overview.queues:
        _add_queue(snapshot, queue)
    for (role, state), number in sorted(Counter((w.report.role.value, w.state.value) for w in workers).items()):
        snapshot.add("rhapsode_workers", number, role=role, state=state)
    _add_totals(snapshot, overview)


def _add_queue(snapshot: Snapshot, queue: QueueOverview) -> None:
    lane = lane_of(queue.name)
    snapshot.add("rhapsode_queue_ready_items", queue.ready_items, queue=queue.name, lane=lane)
    snapshot.add("rhapsode_queue_pace_ratio", queue.pace, queue=queue.name, lane=lane)
    snapshot.add("rhapsode_worker_slots", queue.slots, queue=queue.name, lane=lane)
    for rank, seen in queue.classes.items():
        labels = {"queue": queue.name, "lane": lane, "class_": rank.value}
        snapshot.add("rhapsode_backlog_audio_seconds", seen.backlog_ms / 1000, **labels)
        snapshot.add("rhapsode_queue_waiting_jobs", seen.jobs, **labels)
        # An empty queue reports it too: autoscaling needs a continuous series.
        snapshot.add("rhapsode_queue_oldest_wait_seconds", (seen.oldest_wait_ms or 0) / 1000, **labels)


def _add_totals(snapshot: Snapshot, overview: Overview) -> None:
    snapshot.add("rhapsode_leases", overview.leases)
    snapshot.add("rhapsode_retries_waiting", overview.retries_waiting)
    snapshot.add("rhapsode_unfinished_jobs", overview.unfinished_jobs)
    snapshot.add("rhapsode_scheduled_jobs", overview.scheduled_jobs)
    snapshot.add("rhapsode_dead_letters", overview.dead_letters)
    snapshot.add("rhapsode_claims_held", int(overview.claims_held is not None))
    if overview.audited is not None:
        snapshot.add("rhapsode_counter_drift", len(overview.audited.differences))
        snapshot.add("rhapsode_audit_age_seconds", max(0.0, time.time() - overview.audited.at_ms / 1000))
