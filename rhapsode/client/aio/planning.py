"""A plan without speech: ordered, awaited, and its job taken back whatever becomes of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from rhapsode.client.jobs.plans import PlanOrder
from rhapsode.contract.plans import PlanDocument
from rhapsode.errors import Conflict, RhapsodeError

if TYPE_CHECKING:
    from rhapsode.client.aio.client import AsyncRhapsode
    from rhapsode.client.aio.sending import AsyncSend

CANCEL_PATIENCE_S = 10.0


async def make_plan(client: AsyncRhapsode, send: AsyncSend, order: PlanOrder) -> PlanDocument:
    """Raises what the requests raise, and `JobNotSucceeded`."""
    try:
        answer = await send(order.begin())
    except asyncio.CancelledError:
        # The answer was never read. Its repeat says which job it was.
        answer = await send(order.begin())
        await _take_back(client, answer.job_id)
        raise
    try:
        while (plan := answer.settled()) is None:
            await client.wait(answer.job_id)
            answer = await send(order.ask())
    finally:
        await _take_back(client, answer.job_id)
    return plan


async def _take_back(client: AsyncRhapsode, job_id: str) -> None:
    # The plan, or what went wrong, is worth more than this; a job that stays is gone after `PLAN_KEPT_S`.
    with suppress(RhapsodeError):
        try:
            await client.delete(job_id)
        except Conflict:
            await client.cancel(job_id)
            await client.wait(job_id, timeout_s=CANCEL_PATIENCE_S)
            await client.delete(job_id)
