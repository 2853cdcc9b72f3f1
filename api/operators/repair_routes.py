"""Dead letters, the audit of counters, and the repair of Redis after a restore: for operators."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import OptionalJsonBytes, Services, Tenant, id_like
from api.http.bodies import json_body
from api.http.cursors import StrictQuery
from api.http.parsing import parse_body
from api.http.problems.problem import invalid_field, problem
from api.http.times import moment
from rhapsode.contract.operators.fleet import AuditView, CounterDifference, DeadLetterList, DeadLetterView
from rhapsode.contract.operators.reconcile import ReconcileOrder, ReconcileView
from storage.errors import AuditOvertaken
from storage.queue.dead_letters import DeadLetterUnknown
from storage.recovery.audit_log import AuditRecord
from storage.recovery.journal import JournalUnreadable
from storage.recovery.reconcile import Reconciler

router = APIRouter(prefix="/v1/admin", tags=["administration"], route_class=IdempotentRoute)

_ENTRY = re.compile(r"\d{1,20}-\d{1,20}")


class DeadLetterQuery(StrictQuery):
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = None


KnownEntry = Annotated[str, id_like(_ENTRY, "dead letter")]


@router.get("/dlq", response_model=DeadLetterList)
def list_dead_letters(
    tenant: Tenant, services: Services, parameters: Annotated[DeadLetterQuery, Query()]
) -> DeadLetterList:
    """Items that failed after all retries, newest first: about the last ten thousand."""
    if parameters.cursor is not None and not _ENTRY.fullmatch(parameters.cursor):
        raise invalid_field("/cursor", "not_a_cursor", "must be a next_cursor of this list")
    found = services.operators.dead_letters.list(parameters.cursor, parameters.limit + 1)
    shown, has_more = found[: parameters.limit], len(found) > parameters.limit
    return DeadLetterList(
        data=tuple(DeadLetterView(at=moment(each.at_ms), **asdict(each)) for each in shown),
        next_cursor=shown[-1].id if has_more else None,
        has_more=has_more,
    )


@router.delete("/dlq/{entry}", status_code=204)
def forget_dead_letter(tenant: Tenant, services: Services, entry: KnownEntry) -> None:
    """Remove an entry. Its job stays unchanged."""
    try:
        services.operators.dead_letters.forget(entry)
    except DeadLetterUnknown as error:
        raise problem("not_found", str(error)) from error


@router.post("/audit", response_model=AuditView)
def audit(tenant: Tenant, services: Services) -> AuditView:
    """Compare the counters with a new count, without a repair.

    Takes about a millisecond for 40 unfinished jobs.
    """
    try:
        return _audit(services.operators.audit_log.note(services.jobs.store.audit_counters()))
    except AuditOvertaken as error:
        raise problem("state_conflict", "another audit began meanwhile; its result counts") from error


def _audit(record: AuditRecord) -> AuditView:
    return AuditView(
        at=moment(record.at_ms),
        drift=tuple(
            CounterDifference(counter=each.name, expected=each.expected, actual=each.actual)
            for each in record.differences
        ),
    )


@router.post("/reconcile", response_model=ReconcileView, openapi_extra=json_body(ReconcileOrder, required=False))
def reconcile(tenant: Tenant, services: Services, body: OptionalJsonBytes) -> ReconcileView:
    """Restore jobs that Redis lost, one part of the journal for each call. Then workers may claim work."""
    order = parse_body(ReconcileOrder, body) if body else ReconcileOrder()
    reconciler = Reconciler(services.redis, services.artifacts, services.settings.key_prefix)
    try:
        step = reconciler.step(order.cursor)
    except JournalUnreadable as error:
        raise problem("state_conflict", str(error)) from error
    except AuditOvertaken as error:
        raise problem("state_conflict", "another audit began meanwhile: take this step again") from error
    services.tickets.send(step.tickets)
    return ReconcileView.model_validate(step, from_attributes=True)
