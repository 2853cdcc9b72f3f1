"""After Redis was restored from a backup: `POST /v1/admin/reconcile`, for operators."""

from __future__ import annotations

from fastapi import APIRouter

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.parsing import parse_body
from api.http.problems.problem import problem
from rhapsode.contract.operators.reconcile import ReconcileOrder, ReconcileView
from storage.errors import AuditOvertaken
from storage.recovery.journal import JournalUnreadable
from storage.recovery.reconcile import Reconciler

router = APIRouter(prefix="/v1/admin", tags=["administration"], route_class=IdempotentRoute)


@router.post("/reconcile", response_model=ReconcileView, openapi_extra=json_body(ReconcileOrder, required=False))
def reconcile(tenant: Tenant, services: Services, body: OptionalJsonBytes) -> ReconcileView:
    """Bring back what a restored Redis does not know, a piece of the journal a call; then workers may claim."""
    order = parse_body(ReconcileOrder, body) if body else ReconcileOrder()
    reconciler = Reconciler(services.redis, services.artifacts, services.settings.key_prefix)
    try:
        step = reconciler.step(order.cursor)
    except JournalUnreadable as error:
        raise problem("state_conflict", str(error)) from error
    except AuditOvertaken as error:
        raise problem("state_conflict", "another audit began meanwhile: take this step again") from error
    services.tickets.send(step.tickets)
    return ReconcileView(
        next_cursor=step.next_cursor,
        jobs_seen=step.jobs_seen,
        jobs_restored=step.jobs_restored,
        jobs_marked=step.jobs_marked,
        jobs_gone=step.jobs_gone,
        counters_mended=step.counters_mended,
    )
