"""A job as an answer."""

from __future__ import annotations

import time

from starlette.responses import Response

from api.acceptance.acceptance import Accepted
from api.http.links import LinkBuilder
from api.jobs.answers.queue_position import waiting_of
from api.jobs.answers.view import JobViewer, retry_after_s
from api.services.container import ApiServices
from rhapsode.contract.jobs import answer as schemas
from storage.job_store.queue_position import QueuePosition
from storage.jobs.record import JobRecord


def shown_job(
    services: ApiServices, links: LinkBuilder, record: JobRecord, place: QueuePosition | None = None
) -> schemas.Job:
    """With its place in the queue, as long as it has one, which is asked for unless it is known."""
    return JobViewer(services.artifacts, links, time.time()).job(record, waiting_of(services, record, place))


def accepted_answer(services: ApiServices, links: LinkBuilder, accepted: Accepted) -> Response:
    """202 with the job's address."""
    job = shown_job(services, links, accepted.job, accepted.place)
    headers = {"Location": job.links.self_}
    if not accepted.job.state.is_terminal:
        headers["Retry-After"] = str(retry_after_s(job))
    if accepted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return job_answer(job, 202, headers)


def job_answer(job: schemas.Job, status: int, headers: dict[str, str]) -> Response:
    return Response(job.model_dump_json(by_alias=True), status, headers, "application/json")
