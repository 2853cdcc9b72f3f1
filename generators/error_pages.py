"""Every problem code for people: a table, and for the site of documentation a page of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from api.http.problems.codes import CODES, RETRIES, ProblemCode, met
from generators.files import Files

MADE = Path("api/http/problems/ERRORS.md")

_HEAD = f"""\
# Errors

Made from `api/http/problems/codes.json` by `make generated`; change that.

{RETRIES}

An error is `application/problem+json` (RFC 9457) with `code`, `detail`, `errors`, `request_id` and `retryable`.
`type` is its page on your server, such as `/errors/voice_not_found`.

Under `/v1/audio/`, errors have OpenAI's shape and the same codes. A failed job has its `error`. There,
`retryable` says whether `POST …/retry` may help. The status `job` marks the codes of jobs.

| code | status | means | do |
|---|---|---|---|"""


def error_table() -> Files:
    rows = [f"| `{each.code}` | {_where(each)} | {each.meaning} | {each.remedy} |" for each in CODES]
    return {MADE: "\n".join((_HEAD, *rows)) + "\n"}


def error_pages() -> Iterator[tuple[str, str]]:
    """Each code with its page in Markdown, as the site of documentation has them beside the table."""
    for each in CODES:
        yield each.code, _page(each)


def _page(code: ProblemCode) -> str:
    return f"""\
# `{code.code}`

{_sentence(code.meaning)}

**What to do:** {code.remedy}.

**Where you see it:** {met(code)}.
"""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _where(code: ProblemCode) -> str:
    places = [str(status) for status in code.statuses] + (["job"] if code.in_jobs else [])
    return ", ".join(places)
