"""The answer to a submission with `Prefer: wait=N`: the job as it has ended, if it does so in that time."""

from __future__ import annotations

import logging

from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.types import Receive

from api.acceptance.acceptance import Accepted
from api.http.links import LinkBuilder
from api.job_answers.answers import accepted_answer, job_answer, shown_job
from api.job_answers.waiting import wait_for_caller
from api.services.container import ApiServices
from storage.errors import StoreUnavailable

logger = logging.getLogger(__name__)


async def held_answer(
    services: ApiServices, links: LinkBuilder, accepted: Accepted, wait_s: int, receive: Receive
) -> Response:
    """200 with the job at its end, 202 with the job as it is by then, or as it was accepted if Redis says no more."""
    try:
        record = accepted.job
        if not record.state.is_terminal:
            record = await wait_for_caller(services, record, wait_s, receive)
        answer = await run_sync(_answer, services, links, Accepted(record, accepted.replayed))
    except StoreUnavailable as error:
        # An error would make the caller submit again what is accepted.
        logger.warning("not seen to its end", extra={"job_id": accepted.job.id, "error": str(error)})
        answer = await run_sync(accepted_answer, services, links, accepted)
    answer.headers["Preference-Applied"] = f"wait={wait_s}"
    return answer


def _answer(services: ApiServices, links: LinkBuilder, accepted: Accepted) -> Response:
    if not accepted.job.state.is_terminal:
        return accepted_answer(services, links, accepted)
    headers = {"Location": links.job(accepted.job.id)}
    if accepted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return job_answer(shown_job(services, links, accepted.job), 200, headers)
