"""The answer to `validate_only`: the plan itself where it is soon there."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from api.acceptance.acceptance import Accepted
from api.http.links import LinkBuilder
from api.http.problems.problem import HttpProblem
from api.jobs.answers.answers import accepted_answer
from api.jobs.answers.held_answer import Seen, answer_at_its_end
from api.services.container import ApiServices
from rhapsode.contract.jobs.states import JobState
from storage.narration.spec import NarrationSpec

PLAN_WAIT_S = 30.0

_CALLERS_FAULT = frozenset(
    {
        *("document_without_text", "input_too_complex", "invalid_request", "text_too_long"),
        *("unsupported_language", "unsupported_media"),
    }
)


def wants_plan_only(accepted: Accepted) -> bool:
    return isinstance(accepted.job.spec, NarrationSpec) and accepted.job.spec.request.validate_only


async def plan_answer(
    services: ApiServices, links: LinkBuilder, accepted: Accepted, wait_s: int | None = None
) -> Response:
    """200 with the plan, 202 with the job if it takes longer, and the `HttpProblem` of an input that has no plan.

    wait_s: what the caller prefers to wait; 0 asks for the job at once.
    """
    planned = partial(_planned, services, links, accepted, wait_s)
    return await answer_at_its_end(services, accepted.job, PLAN_WAIT_S if wait_s is None else wait_s, planned)


def _planned(services: ApiServices, links: LinkBuilder, accepted: Accepted, wait_s: int | None, seen: Seen) -> Response:
    now = seen()
    answer = _answer(services, links, Accepted(now.record, accepted.replayed, now.place))
    if wait_s is not None:
        answer.headers["Preference-Applied"] = f"wait={wait_s}"
    return answer


def _answer(services: ApiServices, links: LinkBuilder, accepted: Accepted) -> Response:
    record, error = accepted.job, accepted.job.error
    if record.state is JobState.FAILED and error is not None and error.code in _CALLERS_FAULT:
        raise HttpProblem(422, error.code, "The input has no plan", error.detail)
    if record.state is not JobState.SUCCEEDED:
        return accepted_answer(services, links, accepted)
    plan = services.artifacts.get(record.artifacts[0].key)
    headers = {"Location": links.job(record.id)}
    if accepted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(plan, 200, headers, "application/json")
