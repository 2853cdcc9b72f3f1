"""What a server's refusal says, in whichever of its forms. Loads nothing of what the server has."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import httpx
from pydantic import BaseModel, ValidationError

from rhapsode.errors import ApiError, Problem, Violation, api_error

BLANK = "about:blank"
"""The `type` of a problem that says nothing beyond its status."""

WEB = ("http", "https")

PASSING = frozenset({408, 429, 502, 503, 504})
"""Statuses of what may be over soon, unless the problem says otherwise."""


def read_error(response: httpx.Response) -> ApiError:
    """The error that an answer of 400 and above stands for; its body must have been read."""
    status = response.status_code
    for document in (_ProblemDocument, _OpenAiDocument):
        try:
            problem = document.model_validate_json(response.content).problem(status, response.url)
        except ValidationError:
            continue
        return api_error(problem, retry_after_s(response))
    problem = Problem(status, "unknown", response.reason_phrase, excerpt(response), retryable=status in PASSING)
    return api_error(problem, retry_after_s(response))


def excerpt(response: httpx.Response) -> str:
    return " ".join(response.text[:200].split())


def retry_after_s(response: httpx.Response) -> float | None:
    """Seconds of the Retry-After field, in either of its forms; Rhapsode sends a number, proxies also a date."""
    value = response.headers.get("retry-after", "")
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


class _ViolationDocument(BaseModel):
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    code: str = ""
    detail: str = ""

    def violation(self) -> Violation:
        return Violation(self.pointer or self.parameter or self.header or "", self.code, self.detail)


class _ProblemDocument(BaseModel):
    type: str = BLANK
    title: str
    code: str
    detail: str = ""
    request_id: str | None = None
    retryable: bool | None = None
    errors: tuple[_ViolationDocument, ...] = ()

    def problem(self, status: int, asked: httpx.URL) -> Problem:
        return Problem(
            status=status,
            code=self.code,
            title=self.title,
            detail=self.detail,
            request_id=self.request_id or "",
            retryable=status in PASSING if self.retryable is None else self.retryable,
            violations=tuple(entry.violation() for entry in self.errors),
            page=_page(self.type, asked),
        )


def _page(kind: str, asked: httpx.URL) -> str:
    """kind: the problem's `type`, a reference to be resolved against the address that was asked."""
    if kind == BLANK:
        return ""
    try:
        address = asked.join(kind)
    except httpx.InvalidURL:
        return ""
    return str(address) if address.scheme in WEB else ""


class _OpenAiError(BaseModel):
    message: str
    param: str | None = None
    code: str | None = None


class _OpenAiDocument(BaseModel):
    """How errors are written under /v1/audio/."""

    error: _OpenAiError

    def problem(self, status: int, asked: httpx.URL) -> Problem:
        code, place = self.error.code or "unknown", self.error.param
        violations = (Violation(place, code, self.error.message),) if place else ()
        return Problem(status, code, code, self.error.message, retryable=status in PASSING, violations=violations)
