"""What can go wrong for a user of the client. The class says what to do; a problem's fields are attributes.

RhapsodeError
├── ServerUnreachable      no connection, or it broke, after all retries
├── BadAnswer              the answer is not what the API promises: another server, or another version
├── WaitTimedOut           the job is still working; wait again or leave it
├── BatchWaitTimedOut      jobs of the batch are still working
├── JobNotSucceeded        the job ended as failed, cancelled or expired; see `.job.error`
├── BuiltInVoice           it comes with its model: it can be spoken with, and nothing else
├── SecretNotShown         made, but the answer with its secret was lost: make another; see the message
├── DownloadCorrupt        the bytes are not those the job recorded; download again
└── ApiError               the server answered with a problem
    ├── InvalidRequest     400, 413, 415, 422: change the request; `.violations` point to the fields
    ├── Unauthorized       401, 403: the API key is missing, wrong or not allowed to do this
    ├── NotFound           404
    ├── Gone               410: it existed; its retention is over or it was deleted
    ├── Conflict           409: the job's state does not allow this
    ├── RateLimited        429: a limit is reached, try again after `.retry_after_s`
    └── ServerError        5xx: not the caller's fault
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.contract.batches import Batch


class RhapsodeError(Exception):
    """Rhapsode could not do what was asked."""


class ServerUnreachable(RhapsodeError):
    """No connection to the server."""


class BadAnswer(RhapsodeError):
    """The server's answer is not one of Rhapsode's API."""


class WaitTimedOut(RhapsodeError):
    """The job is still working."""

    def __init__(self, job: Job, timeout_s: float) -> None:
        super().__init__(f"job {job.id} is still {job.state} after {timeout_s:g} s")
        self.job = job


class BatchWaitTimedOut(RhapsodeError):
    """Jobs of the batch are still working."""

    def __init__(self, batch: Batch, timeout_s: float) -> None:
        done = f"{batch.counts.ended} of {batch.counts.total} jobs have ended"
        super().__init__(f"batch {batch.id} is still {batch.state} after {timeout_s:g} s: {done}")
        self.batch = batch


class BuiltInVoice(RhapsodeError, ValueError):
    """Only voices that were uploaded can be changed, prepared or deleted."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} comes with its model; only uploaded voices can be changed, prepared or exported")


class JobNotSucceeded(RhapsodeError):
    """The job ended without a result."""

    def __init__(self, job: Job) -> None:
        reason = f": {job.error.detail} ({job.error.code})" if job.error else ""
        super().__init__(f"job {job.id} {job.state}{reason}")
        self.job = job


class SecretNotShown(RhapsodeError):
    """The answer that held the secret was lost on its way, and its repeat does not show it."""


class DownloadCorrupt(RhapsodeError):
    """The bytes are not those the job recorded."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with a request.

    where: a JSON pointer into its body, or the name of a parameter or header; empty for the request as a whole.
    """

    where: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document (RFC 9457) with Rhapsode's members.

    page: address of what the server says about the code; empty where it did not name one.
    """

    status: int
    code: str
    title: str
    detail: str
    request_id: str = ""
    retryable: bool = False
    violations: tuple[Violation, ...] = ()
    page: str = ""

    def sentence(self) -> str:
        """The problem on one line, with what each violation points at."""
        text = self.detail or self.title
        where = "; ".join(part for part in (_place(v, text) for v in self.violations) if part)
        if where:
            text = f"{text} ({where})" if text else where
        return " ".join(text.split())


def _place(violation: Violation, said: str) -> str:
    """What a violation adds to what was said already: a single one often is the whole problem."""
    if violation.detail in said:
        return "" if violation.where in said else violation.where
    return f"{violation.where}: {violation.detail}" if violation.where else violation.detail


class ApiError(RhapsodeError):
    """The server refused."""

    def __init__(self, problem: Problem, retry_after_s: float | None = None) -> None:
        super().__init__(f"{problem.sentence()} [{problem.status} {problem.code}]")
        self.problem = problem
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def request_id(self) -> str:
        return self.problem.request_id

    @property
    def page(self) -> str:
        return self.problem.page

    @property
    def violations(self) -> tuple[Violation, ...]:
        return self.problem.violations


class InvalidRequest(ApiError):
    """The request is wrong."""


class Unauthorized(ApiError):
    """The API key is missing, wrong or not allowed to do this."""


class NotFound(ApiError):
    """There is no such thing."""


class Gone(ApiError):
    """It existed and was deleted."""


class Conflict(ApiError):
    """The state does not allow this."""


class RateLimited(ApiError):
    """A limit is reached."""


class ServerError(ApiError):
    """The server failed."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: RateLimited,
}


def api_error(problem: Problem, retry_after_s: float | None) -> ApiError:
    """The member of the tree that fits the problem's status."""
    fallback = ServerError if problem.status >= 500 else InvalidRequest
    return _BY_STATUS.get(problem.status, fallback)(problem, retry_after_s)
