"""A plan without speech: how an input is divided, who says what, and how long it will take."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from pydantic import JsonValue

from rhapsode.client.calls import JOBS, MAX_HOLD_S, ApiCall, resource, submit_job
from rhapsode.client.request_options import JobInputFields, JobOptions
from rhapsode.client.resources import Job
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.plans import PlanDocument
from rhapsode.errors import JobNotSucceeded

PLAN_KEPT_S = 600
"""Of the job behind a plan, where its end was not awaited; otherwise it is deleted as soon as the plan is there."""


class PlanOrder:
    """The requests of one plan: its job is requested first, so that an interrupted caller can cancel it."""

    def __init__(self, spoken: str | JobInputFields, options: JobOptions) -> None:
        call = submit_job(spoken, options, str(uuid.uuid4()))
        body = call.body if isinstance(call.body, dict) else {}
        self._body: JsonValue = {"retention_s": PLAN_KEPT_S, **body, "validate_only": True}
        self._headers = call.headers

    def begin(self) -> ApiCall[PlanAnswer]:
        """Answered at once, as a rule with the job. Repeated, it is the same job."""
        return ApiCall("POST", JOBS, _plan_or_job, headers={**self._headers, "Prefer": "wait=0"}, body=self._body)

    def ask(self) -> ApiCall[PlanAnswer]:
        """Answered with the plan, or with the job if that takes longer than a request should."""
        return ApiCall("POST", JOBS, _plan_or_job, headers=self._headers, body=self._body, hold_s=MAX_HOLD_S)


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan, or the job while it is being made. job_id: of the job after it."""

    job_id: str
    found: PlanDocument | Job

    def settled(self) -> PlanDocument | None:
        """The plan, or None while it is being made. Raises `JobNotSucceeded` if there will be none."""
        if isinstance(self.found, PlanDocument):
            return self.found
        if self.found.state.is_terminal and self.found.state is not JobState.SUCCEEDED:
            raise JobNotSucceeded(self.found)
        return None


_read_plan: Callable[[httpx.Response], PlanDocument] = resource(PlanDocument)
_read_job: Callable[[httpx.Response], Job] = resource(Job)


def _plan_or_job(response: httpx.Response) -> PlanAnswer:
    found = _read_plan(response) if response.status_code == 200 else _read_job(response)
    if isinstance(found, Job):
        return PlanAnswer(found.id, found)
    return PlanAnswer(response.headers.get("location", "").rpartition("/")[2], found)
