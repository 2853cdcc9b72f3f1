"""Jobs: submit, read, list, cancel, delete."""

from __future__ import annotations

import time
from asyncio import to_thread
from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from api.acceptance.acceptance import Accepted
from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownAsked, KnownJobId, Links, RequestContext, Services, Tenant
from api.http.bodies import json_body
from api.http.cursors import encode_cursor
from api.http.idempotency_key import idempotency_key
from api.http.links import LinkBuilder
from api.jobs.answers.answers import accepted_answer, job_answer, shown_job
from api.jobs.answers.held_answer import Seen, answer_at_its_end, held_answer
from api.jobs.answers.queue_position import waiting_of_each
from api.jobs.answers.view import JobViewer, retry_after_s
from api.jobs.answers.waiting import WAIT_DESCRIPTION, requested_wait_s
from api.jobs.control.plan_answer import plan_answer, wants_plan_only
from api.jobs.control.query import JobListQuery, job_query
from api.jobs.submission.submission import submit_narration
from api.services.container import ApiServices
from api.services.jobs_together import JobNow
from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.jobs.states import JobState
from storage.ids import JobId, new_job_id
from storage.job_store.object_folders import folders_of

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=IdempotentRoute)


@router.post("", status_code=202, response_model=schemas.Job, openapi_extra=json_body(JobRequest))
async def submit_job(
    asked: KnownAsked,
    body: JsonBytes,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
    prefer: Annotated[str | None, Header(description=WAIT_DESCRIPTION)] = None,
) -> Response:
    """Accept a narration. Once this has answered, the job will end in a terminal state.

    With `Prefer: wait` the answer is 200 with the job if it ends in that time. With `validate_only` it is 200 with the
    plan, or 202 with the job if planning takes more than 30 s, or than `Prefer: wait` says. Repeated under its
    `Idempotency-Key` it is the plan once that is made. The job stays for its `retention_s`: delete it when you have the
    plan.
    """
    services, links = asked.services, asked.links
    key = idempotency_key(idempotency_header, body)
    submit = partial(submit_narration, services.intake, asked.tenant, body, key, links.base)
    wait_s = requested_wait_s(prefer)
    if wait_s is not None:
        return await _submit_and_wait(services, links, submit, wait_s)
    answer = await to_thread(_submit, services, links, submit)
    if isinstance(answer, Accepted):
        return await plan_answer(services, links, answer)
    return answer


_METADATA = {
    "name": "metadata",
    "in": "query",
    "description": "`metadata[name]=value`, for several names: every one has to match",
    "style": "deepObject",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}


@router.get("", response_model=schemas.JobList, openapi_extra={"parameters": [_METADATA]})
def list_jobs(
    tenant: Tenant, services: Services, links: Links, parameters: Annotated[JobListQuery, Query()]
) -> schemas.JobList:
    """The tenant's jobs, newest first unless asked otherwise; `metadata[name]=value` filters, too."""
    if parameters.batch_id is not None:
        # Of this tenant, or there is none.
        services.jobs.store.get(tenant, JobId(parameters.batch_id))
    page = services.jobs.store.list(tenant, job_query(parameters))
    viewer = JobViewer(services.artifacts, links, time.time())
    cursor = encode_cursor(page.next_after) if page.next_after else None
    waiting = waiting_of_each(services, page.entries)
    data = [viewer.job(record, its_wait) for record, its_wait in zip(page.entries, waiting, strict=True)]
    return schemas.JobList(data=tuple(data), next_cursor=cursor, has_more=cursor is not None)


@router.get("/{job_id}", response_model=schemas.Job)
async def get_job(
    asked: KnownAsked,
    job_id: KnownJobId,
    prefer: Annotated[str | None, Header(description=WAIT_DESCRIPTION)] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """One job as it is now, or as it has ended if `Prefer: wait` leaves it the time."""
    wait_s = requested_wait_s(prefer)
    if wait_s is None:
        return await to_thread(_present_answer, asked, job_id, if_none_match)
    services = asked.services
    record = await to_thread(services.jobs.store.get, asked.tenant, job_id)
    answer = partial(_waited_answer, services, asked.links, wait_s, if_none_match)
    return await answer_at_its_end(services, record, wait_s, answer)


@router.post("/{job_id}/cancel", response_model=schemas.Job)
def cancel_job(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, response: Response) -> schemas.Job:
    """Stop a job; segments that are being spoken are dropped. Repeating it is no error."""
    outcome = services.jobs.store.cancel(tenant, job_id)
    services.tickets.send(outcome.tickets)
    # 202 while workers are still being told.
    response.status_code = 202 if outcome.job.state is JobState.CANCELLING else 200
    return shown_job(services, links, outcome.job)


@router.delete("/{job_id}", status_code=204)
def delete_job(tenant: Tenant, services: Services, job_id: KnownJobId) -> None:
    """Forget a job that has ended, with everything it made. Repeating it is no error."""
    # The record first, so that nothing points at objects that are gone. If the store fails then, the caller's repeat
    # comes to the job's own folder again; where its destination was nobody knows any more but the sweep of orphans.
    folders = folders_of(services.jobs.store, tenant, job_id)
    services.jobs.store.delete(tenant, job_id)
    for folder in folders:
        services.artifacts.delete_prefix(folder)


def _submit(services: ApiServices, links: LinkBuilder, submit: Callable[[], Accepted]) -> Response | Accepted:
    """The answer, unless that has to wait for a plan: one change of threads is a tenth of a submit's time."""
    accepted = submit()
    return accepted if wants_plan_only(accepted) else accepted_answer(services, links, accepted)


async def _submit_and_wait(
    services: ApiServices, links: LinkBuilder, submit: Callable[[JobId], Accepted], wait_s: int
) -> Response:
    job = new_job_id()
    # Following begins before the job exists, so its feed gets every event and the log need not be read.
    with services.jobs.events.following(job):
        accepted = await to_thread(submit, job)
    if wants_plan_only(accepted):
        return await plan_answer(services, links, accepted, wait_s)
    return await held_answer(services, links, accepted, wait_s)


def _present_answer(asked: RequestContext, job: JobId, if_none_match: str | None) -> Response:
    """As the job is now: read and shown by one thread."""
    record = asked.services.jobs.store.get(asked.tenant, job)
    return _read_answer(asked.services, asked.links, JobNow(record, None), {}, if_none_match)


def _waited_answer(
    services: ApiServices, links: LinkBuilder, wait_s: int, if_none_match: str | None, seen: Seen
) -> Response:
    return _read_answer(services, links, seen(), {"Preference-Applied": f"wait={wait_s}"}, if_none_match)


def _read_answer(
    services: ApiServices, links: LinkBuilder, now: JobNow, headers: dict[str, str], if_none_match: str | None
) -> Response:
    record = now.record
    etag = JobViewer(services.artifacts, links, time.time()).etag(record)
    headers |= {"ETag": etag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and {etag, "*"} & {tag.strip() for tag in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    job = shown_job(services, links, record, now.place)
    if not record.state.is_terminal:
        headers["Retry-After"] = str(retry_after_s(job))
    return job_answer(job, 200, headers)
