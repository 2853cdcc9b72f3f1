"""Workers and queues, for operators."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import Services, Tenant, id_like
from api.http.problems.problem import problem
from api.services.container import ApiServices
from api.services.fleet_view import largest_tenants, queue_view, totals_of, worker_view
from rhapsode.contract.jobs.states import JobClass
from rhapsode.contract.operators.fleet import FleetHistory, QueueList, WorkerList, WorkerView
from storage.errors import StoreUnavailable
from storage.ids import WorkQueue
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.queue.fleet_history import MOST_MINUTES
from storage.queue.overview import ClassOverview, Overview, QueueOverview
from storage.queue.worker_registry import ListedWorker, WorkerUnknown

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/admin", tags=["administration"], route_class=IdempotentRoute)

_WORKER_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")

WorkerName = Annotated[str, id_like(_WORKER_NAME, "worker")]


@router.get("/workers", response_model=WorkerList)
def list_workers(tenant: Tenant, services: Services) -> WorkerList:
    """Worker processes with a heartbeat in the last minute."""
    return WorkerList(data=tuple(worker_view(each) for each in services.operators.worker_registry.list()))


@router.post("/workers/{name}/drain", status_code=202, response_model=WorkerView)
def drain_worker(tenant: Tenant, services: Services, name: WorkerName) -> WorkerView:
    """The worker finishes its work and claims no more. This survives restarts under its name."""
    return _wished(services, name, services.operators.worker_registry.drain)


@router.post("/workers/{name}/undrain", status_code=202, response_model=WorkerView)
def undrain_worker(tenant: Tenant, services: Services, name: WorkerName) -> WorkerView:
    """The worker claims again."""
    return _wished(services, name, services.operators.worker_registry.undrain)


@router.get("/queues", response_model=QueueList)
def list_queues(tenant: Tenant, services: Services) -> QueueList:
    """Waiting work for each pool of workers, and the tenants with most of it."""
    overview, workers = services.operators.queue_overviews.read(), services.operators.worker_registry.list()
    queues = [*overview.queues, *_queues_of_idle(overview, workers)]
    return QueueList(
        data=tuple(queue_view(queue, workers, _tickets(services, queue.name)) for queue in queues),
        totals=totals_of(overview, workers),
        tenants=largest_tenants(overview),
    )


@router.get("/fleet-history", response_model=FleetHistory)
def get_fleet_history(
    tenant: Tenant, services: Services, minutes: Annotated[int, Query(ge=1, le=MOST_MINUTES)] = MOST_MINUTES
) -> FleetHistory:
    """The fleet of the last day, by minute."""
    return FleetHistory(data=services.operators.fleet_history.read(minutes))


def _wished(services: ApiServices, name: str, wish: Callable[[str], object]) -> WorkerView:
    try:
        wish(name)
    except WorkerUnknown as error:
        raise problem("not_found", str(error)) from error
    listed = next((each for each in services.operators.worker_registry.list() if each.report.name == name), None)
    if listed is None:
        raise problem("not_found", f"worker {name!r} is not here; the wish is forgotten only after a week")
    return worker_view(listed)


def _queues_of_idle(overview: Overview, workers: tuple[ListedWorker, ...]) -> list[QueueOverview]:
    """Queues that never had a job, with workers all the same. Also that of the webhooks, whose deliveries are
    counted elsewhere.
    """
    known = {queue.name for queue in overview.queues}
    named = {each.report.queue: each.report.slots or 0 for each in workers if each.report.queue}
    idle = ClassOverview(0, 0, 0)
    return [
        QueueOverview(name, 0, 0 if name == HOOKS_QUEUE else slots, 0.0, 0.0, dict.fromkeys(JobClass, idle))
        for name, slots in sorted(named.items())
        if name not in known
    ]


def _tickets(services: ApiServices, queue: str) -> int | None:
    try:
        return services.tickets.waiting(WorkQueue(queue))
    except StoreUnavailable as error:
        logger.warning("the broker does not answer", extra={"queue": queue, "error": str(error)})
        return None
