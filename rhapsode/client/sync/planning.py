# Made from rhapsode/client/aio/planning.py by `make generated`; change that file, not this one.
"""A plan without speech: ordered, awaited, and its job taken back whatever becomes of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rhapsode.client.calls import cancel_job, delete_job
from rhapsode.client.jobs.plans import PlanOrder
from rhapsode.contract.plans import PlanDocument
from rhapsode.errors import Conflict, RhapsodeError

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.sync.sending import Send

CANCEL_PATIENCE_S = 10.0


def make_plan(client: Rhapsode, send: Send, order: PlanOrder) -> PlanDocument:
    """Raises what the requests raise, and `JobNotSucceeded`."""
    try:
        answer = send(order.begin())
    except KeyboardInterrupt:
        # The answer was never read. Its repeat says which job it was.
        answer = send(order.begin())
        _take_back(client, send, answer.job_id)
        raise
    try:
        while (plan := answer.settled()) is None:
            client.wait(answer.job_id)
            answer = send(order.ask())
    finally:
        _take_back(client, send, answer.job_id)
    return plan


def _take_back(client: Rhapsode, send: Send, job_id: str) -> None:
    # The plan, or what went wrong, is worth more than this; a job that stays is gone after `PLAN_KEPT_S`.
    with suppress(RhapsodeError):
        try:
            send(delete_job(job_id))
        except Conflict:
            send(cancel_job(job_id))
            client.wait(job_id, timeout_s=CANCEL_PATIENCE_S)
            send(delete_job(job_id))
