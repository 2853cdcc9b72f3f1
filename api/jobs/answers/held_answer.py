"""An answer that is held until a job has ended: the request waits for it outside of the application's layers."""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.acceptance.acceptance import Accepted
from api.http.caller_presence import PresentCaller
from api.http.links import LinkBuilder
from api.http.middleware.held_requests import LateAnswer, hold
from api.jobs.answers.answers import accepted_answer, job_answer, shown_job
from api.jobs.answers.waiting import followed_to_its_end
from api.services.container import ApiServices
from api.services.jobs_together import JobNow
from storage.errors import StorageError, StoreUnavailable
from storage.ids import JobId, TenantId
from storage.jobs.record import JobRecord

logger = logging.getLogger(__name__)

Seen = Callable[[], JobNow]
"""Gives the job as it was seen at the end of the wait; raises the `StorageError` that it was not."""


async def answer_at_its_end(
    services: ApiServices, record: JobRecord, wait_s: float, answer: Callable[[Seen], Response]
) -> Response:
    """What a route returns to have `answer` called in a thread once the job has ended, the time is over or the server
    stops. A client that goes meanwhile is answered nothing. A tenant that holds its share of the connections is
    answered at once.
    """
    if record.state.is_terminal or not services.live.shares.has_room(record.tenant):
        return await to_thread(answer, lambda: JobNow(record, None))
    return _HeldAnswer(_Wait(services, record.tenant, record.id, wait_s, answer))


class _HeldAnswer(Response):
    """In place of the answer while the request leaves the layers."""

    def __init__(self, wait: _Wait) -> None:
        super().__init__()
        self._wait = wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hold(scope, self._wait)


@dataclass(frozen=True, slots=True)
class _Wait:
    """All that a request is while it waits."""

    services: ApiServices
    tenant: TenantId
    job_id: JobId
    wait_s: float
    answer: Callable[[Seen], Response]

    async def go_on(self, receive: Receive, send: Send) -> LateAnswer | None:
        caller, services = PresentCaller(receive), self.services
        try:
            with (
                services.live.shares.held(self.tenant),
                services.jobs.events.following(self.job_id, caller) as follower,
            ):
                now = await followed_to_its_end(services, follower, self.tenant, self.job_id, self.wait_s, caller)
        except StorageError as error:
            return _late(self.answer, partial(_raise, error))
        # Thousands may go together, and none of them reads what is answered.
        return None if now is None else _late(self.answer, lambda: now)


def _late(answer: Callable[[Seen], Response], seen: Seen) -> LateAnswer:
    return lambda: to_thread(answer, seen)


def _raise(error: StorageError) -> JobNow:
    raise error


async def held_answer(services: ApiServices, links: LinkBuilder, accepted: Accepted, wait_s: int) -> Response:
    """To a submission with `Prefer: wait=N`: 200 with the job at its end, 202 with the job as it is by then, or as it
    was accepted if Redis says no more.
    """
    return await answer_at_its_end(
        services, accepted.job, wait_s, partial(_submitted, services, links, accepted, wait_s)
    )


def _submitted(services: ApiServices, links: LinkBuilder, accepted: Accepted, wait_s: int, seen: Seen) -> Response:
    try:
        now = seen()
        answer = _seen(services, links, Accepted(now.record, accepted.replayed, now.place))
    except StoreUnavailable as error:
        # An error would make the caller submit again what is accepted.
        logger.warning("not seen to its end", extra={"job_id": accepted.job.id, "error": str(error)})
        answer = accepted_answer(services, links, accepted)
    answer.headers["Preference-Applied"] = f"wait={wait_s}"
    return answer


def _seen(services: ApiServices, links: LinkBuilder, accepted: Accepted) -> Response:
    if not accepted.job.state.is_terminal:
        return accepted_answer(services, links, accepted)
    headers = {"Location": links.job(accepted.job.id)}
    if accepted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return job_answer(shown_job(services, links, accepted.job), 200, headers)
