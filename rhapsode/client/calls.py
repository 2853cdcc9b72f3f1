"""Every request of the client as a value, with how its answer is read. No I/O: both clients send these.

A call is safe to repeat: reads by nature, every POST through an idempotency key, the others because the server answers
a repeat like the first time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, JsonValue, ValidationError

from rhapsode.client.jobs.submission import submission_body
from rhapsode.client.refusals import excerpt
from rhapsode.client.request_options import JobInputFields, JobOptions
from rhapsode.client.resources import Job, PageOfJobs
from rhapsode.contract.base import Answer
from rhapsode.contract.jobs.states import JobState
from rhapsode.errors import BadAnswer, SecretNotShown

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ResourceT = TypeVar("ResourceT", bound=Answer)

IDEMPOTENCY_KEY = "Idempotency-Key"

JOBS = "/v1/jobs"

MAX_HOLD_S = 30
"""How long one request asks the server to hold its answer; below the 60 s at which proxies begin to cut."""


@dataclass(frozen=True, slots=True)
class FormUpload:
    """A multipart form: text fields and one file without its name."""

    fields: dict[str, str]
    file_field: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T_co]):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    parse: Callable[[httpx.Response], T_co]
    params: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: JsonValue = None
    upload: FormUpload | None = None
    content: bytes | None = None
    """A body that is no JSON; its type stands in the headers."""

    hold_s: float = 0.0
    """What the server may take on purpose, on top of the client's own timeout."""

    def sent_headers(self) -> dict[str, str]:
        """The headers of one sending and of all its repeats. Ask once: a POST without a key is given one here."""
        is_keyed = any(name.lower() == IDEMPOTENCY_KEY.lower() for name in self.headers)
        if self.method != "POST" or is_keyed:
            return self.headers
        return {**self.headers, IDEMPOTENCY_KEY: str(uuid.uuid4())}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list. Times need a time zone; all metadata entries must match."""

    states: frozenset[JobState] = frozenset()
    created_after: datetime | None = None
    created_before: datetime | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    batch: str | None = None
    kind: Literal["synthesis", "voice_cache"] | None = None
    order: Literal["desc", "asc"] = "desc"


def submit_job(spoken: str | JobInputFields, options: JobOptions, idempotency_key: str | None) -> ApiCall[Job]:
    key = idempotency_key or str(uuid.uuid4())
    return ApiCall("POST", JOBS, resource(Job), headers={IDEMPOTENCY_KEY: key}, body=submission_body(spoken, options))


def list_jobs(filters: JobFilter, page_size: int) -> ApiCall[PageOfJobs]:
    params: list[tuple[str, str]] = [("state", state.value) for state in sorted(filters.states)]
    days = {"created_after": filters.created_after, "created_before": filters.created_before}
    params += [(name, day.isoformat()) for name, day in days.items() if day]
    params += given(batch_id=filters.batch, kind=filters.kind)
    params += [(f"metadata[{name}]", value) for name, value in filters.metadata.items()]
    return ApiCall("GET", JOBS, resource(PageOfJobs), params=(*params, *given(order=filters.order, limit=page_size)))


class Identified(Protocol):
    @property
    def id(self) -> str: ...


def path_of(kind: str, named: Identified | str) -> str:
    """kind: the path of the list. named: a record, or its id."""
    return f"{kind}/{quote(named if isinstance(named, str) else named.id, safe='')}"


def job_path(job: Identified | str) -> str:
    return path_of(JOBS, job)


def artifact_path(job: Identified | str, name: str) -> str:
    return path_of(f"{job_path(job)}/artifacts", name)


def resource(kind: type[ResourceT]) -> Callable[[httpx.Response], ResourceT]:
    def read(response: httpx.Response) -> ResourceT:
        try:
            return kind.model_validate_json(response.content, extra="ignore")
        except ValidationError as error:
            raise BadAnswer(
                f"{response.request.method} {response.request.url} did not answer with a {kind.__name__}: "
                f"{excerpt(response)!r}"
            ) from error

    return read


def shown_once(kind: type[ResourceT], remedy: str) -> Callable[[httpx.Response], ResourceT]:
    """As `resource`, of an answer that holds a secret, which a repeat under an idempotency key does not.

    remedy: what to do then, with `{id}` for the id of what was made.
    """
    read = resource(kind)

    def read_with_secret(response: httpx.Response) -> ResourceT:
        try:
            repeated = _Repeated.model_validate_json(response.content)
        except ValidationError:
            return read(response)
        raise SecretNotShown(f"the answer that showed the secret was lost; {remedy.format(id=repeated.id)}")

    return read_with_secret


class _Repeated(BaseModel):
    """An answer without the secret that it had at first."""

    id: str = ""
    secret: None


class Listed(Protocol[T_co]):
    @property
    def data(self) -> tuple[T_co, ...]: ...


def entries(read: Callable[[httpx.Response], Listed[T]]) -> Callable[[httpx.Response], tuple[T, ...]]:
    """Of a list that comes whole."""
    return lambda response: read(response).data


def content(response: httpx.Response) -> bytes:
    return response.content


def nothing(_: httpx.Response) -> None:
    return None


def given(**params: str | int | None) -> tuple[tuple[str, str], ...]:
    """Query parameters, without what is None or empty."""
    return tuple((name, str(value)) for name, value in params.items() if value not in (None, ""))
