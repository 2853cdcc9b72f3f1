"""Every code that a refusal or a job's `error` can have, as `codes.json` lists them: a part of the contract.

A code is never renamed or given another meaning; new ones may come. `api/http/problems/ERRORS.md` and the pages at
`/errors` are made of this table.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

RETRIES = (
    "After a 4xx, change the request. Repeat only 408, 429 and a 409 with `Retry-After` unchanged; "
    "after `quota_exceeded`, first let jobs end. After 503, wait `Retry-After`, then repeat. After 504, send a job. "
    "Report a 500."
)
"""What a client does, by the class of the status."""


@dataclass(frozen=True, slots=True)
class ProblemCode:
    """`statuses`: of answers with this code, the usual one first; none for one that only a job's `error` has.

    title: heads a problem document. remedy: what the caller does. in_jobs: whether a job can end with it. retry_helps:
    whether that job, retried as it is, may succeed where it failed.
    """

    code: str
    statuses: tuple[int, ...]
    title: str
    meaning: str
    remedy: str
    in_jobs: bool = False
    retry_helps: bool = False


CODES = tuple(
    ProblemCode(**each | {"statuses": tuple(each["statuses"])})
    for each in json.loads(Path(__file__).with_name("codes.json").read_text(encoding="utf-8"))
)
BY_CODE = {each.code: each for each in CODES}
JOB_CODES = {each.code: each for each in CODES if each.in_jobs}

PAGES = "/errors"
"""Where a server shows what it knows of its codes, one below the other."""

PUBLIC_PATH: ContextVar[str] = ContextVar("public path", default="")
"""Of the request that is answered: the path in `RHAPSODE_PUBLIC_URL`, which a proxy takes off."""


def problem_type(code: str) -> str:
    """The `type` of a problem document: a reference (RFC 3986) to the page about it, at the server that was asked."""
    return f"{PUBLIC_PATH.get()}{PAGES}/{code}"


def met(code: ProblemCode) -> str:
    """Which responses have the code, and whether a retry helps."""
    places: list[str] = []
    if code.statuses:
        places.append(f"in responses with status {_listed([str(status) for status in code.statuses])}")
    if code.in_jobs:
        again = "may help" if code.retry_helps else "does not help"
        places.append(f"in the `error` of a job, where a retry without changes {again}")
    return ", and ".join(places)


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
