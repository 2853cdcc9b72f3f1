"""Every request of the client as a value, with how its answer is read. No I/O: both clients send these.

A call is safe to repeat: reads by nature, submissions through their idempotency key, cancel and delete because
the server answers a repeat like the first time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, JsonValue, ValidationError

from rhapsode.errors import ApiError, BadAnswer, Problem, Violation, api_error
from rhapsode.inputs import JobInput
from rhapsode.resources import Job, JobPage, JobState, Model, ModelList, Resource
from rhapsode.submission import JobOptions, submission_body

T = TypeVar("T")
ResourceT = TypeVar("ResourceT", bound=Resource)

MAX_HOLD_S = 30
"""How long one request asks the server to hold its answer; below the 60 s at which proxies begin to cut."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart form: text fields and one file, whose name on this machine is nobody's business."""

    fields: dict[str, str]
    file_field: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    parse: Callable[[httpx.Response], T]
    params: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: JsonValue = None
    upload: Upload | None = None
    content: bytes | None = None
    """A body that is no JSON; its type stands in the headers."""

    hold_s: float = 0.0
    """What the server may take on purpose, on top of the client's own timeout."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list. Times need a time zone; all metadata entries must match."""

    states: frozenset[JobState] = frozenset()
    created_after: datetime | None = None
    created_before: datetime | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    order: Literal["desc", "asc"] = "desc"


def submit_job(spoken: str | JobInput, options: JobOptions, idempotency_key: str | None) -> Call[Job]:
    key = idempotency_key or str(uuid.uuid4())
    return Call(
        "POST", "/v1/jobs", resource(Job), headers={"Idempotency-Key": key}, body=submission_body(spoken, options)
    )


def get_job(job_id: str) -> Call[Job]:
    return Call("GET", job_path(job_id), resource(Job))


def audio_path(job_id: str) -> str:
    return f"{job_path(job_id)}/audio"


def wait_for_job(job_id: str, hold_s: int) -> Call[Job]:
    """Answered when the job has ended, or after `hold_s` with the job as it is."""
    return Call("GET", job_path(job_id), resource(Job), headers={"Prefer": f"wait={hold_s}"}, hold_s=hold_s)


def list_jobs(filters: JobFilter, page_size: int, cursor: str | None) -> Call[JobPage]:
    params: list[tuple[str, str]] = [("state", state.value) for state in sorted(filters.states)]
    if filters.created_after:
        params.append(("created_after", filters.created_after.isoformat()))
    if filters.created_before:
        params.append(("created_before", filters.created_before.isoformat()))
    params += [(f"metadata[{name}]", value) for name, value in filters.metadata.items()]
    params += [("order", filters.order), ("limit", str(page_size))]
    if cursor:
        params.append(("cursor", cursor))
    return Call("GET", "/v1/jobs", resource(JobPage), params=tuple(params))


def cancel_job(job_id: str) -> Call[Job]:
    return Call("POST", f"{job_path(job_id)}/cancel", resource(Job))


def delete_job(job_id: str) -> Call[None]:
    return Call("DELETE", job_path(job_id), nothing)


def list_models() -> Call[tuple[Model, ...]]:
    read = resource(ModelList)
    return Call("GET", "/v1/models", lambda response: read(response).data)


def job_path(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def artifact_path(job_id: str, name: str) -> str:
    return f"{job_path(job_id)}/artifacts/{quote(name, safe='')}"


def events_path(job_id: str) -> str:
    return f"{job_path(job_id)}/events"


def read_error(response: httpx.Response) -> ApiError:
    """The error that an answer of 400 and above stands for; its body must have been read."""
    try:
        document = _ProblemDocument.model_validate_json(response.content)
    except ValidationError:
        problem = Problem(response.status_code, "unknown", response.reason_phrase, _excerpt(response))
    else:
        problem = document.problem(response.status_code)
    return api_error(problem, retry_after_s(response))


def retry_after_s(response: httpx.Response) -> float | None:
    """Seconds of the Retry-After field; its date form is not one that Rhapsode sends."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else None


class _ViolationDocument(BaseModel):
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    code: str = ""
    detail: str = ""

    def violation(self) -> Violation:
        return Violation(self.pointer or self.parameter or self.header or "", self.code, self.detail)


class _ProblemDocument(BaseModel):
    title: str
    code: str
    detail: str = ""
    request_id: str | None = None
    retryable: bool = False
    errors: tuple[_ViolationDocument, ...] = ()

    def problem(self, status: int) -> Problem:
        return Problem(
            status=status,
            code=self.code,
            title=self.title,
            detail=self.detail,
            request_id=self.request_id or "",
            retryable=self.retryable,
            violations=tuple(entry.violation() for entry in self.errors),
        )


def resource(kind: type[ResourceT]) -> Callable[[httpx.Response], ResourceT]:
    def read(response: httpx.Response) -> ResourceT:
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            raise BadAnswer(
                f"{response.request.method} {response.request.url} did not answer with a {kind.__name__}: "
                f"{_excerpt(response)!r}"
            ) from error

    return read


def nothing(_: httpx.Response) -> None:
    return None


def _excerpt(response: httpx.Response) -> str:
    return " ".join(response.text[:200].split())
