"""A refusal, RFC 9457."""

from __future__ import annotations

from pydantic import Field

from rhapsode.contract.base import Answer

TYPE = "`/errors/` and the code: a page about it, at the server that answers"


class ProblemDetail(Answer):
    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None


class ProblemDocument(Answer):
    """RFC 9457, for every answer of 400 and above."""

    type: str = Field(description=TYPE)
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    retryable: bool
    errors: tuple[ProblemDetail, ...]
