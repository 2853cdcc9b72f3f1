"""Jobs whose id the client chose: a PUT that creates, once, whatever happens to its answer."""

from __future__ import annotations

import hashlib
import time
from uuid import uuid4

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from ulid import ULID

from api.dependencies import JsonBytes, KnownJobId, Links, Services, Tenant
from api.http.bodies import json_body
from api.http.problems.problem import HttpProblem, invalid_field, problem
from api.jobs.answers.answers import accepted_answer, job_answer, shown_job
from api.jobs.control.plan_answer import plan_answer, wants_plan_only
from api.jobs.submission.submission import submit_narration
from api.services.container import ApiServices
from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.jobs.request import JobRequest
from storage.errors import IdempotencyMismatch, JobNotFound
from storage.ids import JOB_PREFIX, ULID_CHARS, JobId, TenantId
from storage.job_store.idempotent_responses import KeptAnswer
from storage.jobs.submissions import IdempotencyKey
from storage.objects.keys import job_prefix

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

CLOCK_TOLERANCE_S = 24 * 3600
"""Ids sort by their time, and lists of jobs with them."""


@router.put("/{job_id}", status_code=202, response_model=schemas.Job, openapi_extra=json_body(JobRequest))
async def put_job(
    request: Request, tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, body: JsonBytes
) -> Response:
    """Accept a narration under an id of yours: `job_` and a lower-case ULID of today.

    202 when it was created, 200 when it had been by this very body within 24 hours, 409 when the id is taken.
    """
    _check_time(job_id)
    key = IdempotencyKey(f"PUT {job_id}", hashlib.sha256(body).hexdigest())
    token = uuid4().hex
    try:
        created = await services.access.idempotent_responses.take(tenant, key, token)
    except IdempotencyMismatch:
        raise problem("state_conflict", f"{job_id} was created with another body") from None
    if created is not None:
        record = await run_sync(services.jobs.store.get, tenant, job_id)
        return job_answer(await run_sync(shown_job, services, links, record), 200, {"Location": links.job(job_id)})
    try:
        await run_sync(_clear, services, tenant, job_id)
        accepted = await run_sync(submit_narration, services.intake, tenant, body, None, links.base, job_id)
    except BaseException as error:
        await services.access.idempotent_responses.free(tenant, key, token)
        if isinstance(error, IdempotencyMismatch):
            # Of another tenant.
            raise _taken(job_id) from None
        raise
    await services.access.idempotent_responses.keep(tenant, key, token, KeptAnswer(202))
    if wants_plan_only(accepted):
        return await plan_answer(services, links, accepted)
    return await run_sync(accepted_answer, services, links, accepted)


def _check_time(job: JobId) -> None:
    chosen_s = ULID.from_str(job.removeprefix(JOB_PREFIX)[:ULID_CHARS].upper()).timestamp
    if abs(time.time() - chosen_s) > CLOCK_TOLERANCE_S:
        raise invalid_field("", "out_of_range", f"{job} is not an id of today: a ULID begins with its time")


def _clear(services: ApiServices, tenant: TenantId, job: JobId) -> None:
    """Refuse an id that is taken; remove what a creation left that died. Raises a `HttpProblem`, or `JobGone`."""
    try:
        services.jobs.store.get(tenant, job)
    except JobNotFound:
        services.artifacts.delete_prefix(job_prefix(tenant, job))
        return
    raise _taken(job)


def _taken(job: JobId) -> HttpProblem:
    return problem("state_conflict", f"there is a job {job} already")
