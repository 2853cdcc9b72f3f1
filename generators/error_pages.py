"""Every problem code for people: a table, and for the site of documentation a page of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from api.http.problems.codes import CODES, ProblemCode
from api.http.problems.pages import met
from generators.files import Files

MADE = Path("api/http/problems/ERRORS.md")

_HEAD = """\
# Errors

Made from `api/http/problems/codes.py` by `make generated`; change that, not this page.

A refusal is `application/problem+json` (RFC 9457) with `code`, `detail`, `errors` (each with a JSON pointer, a
parameter or a header), `request_id` and `retryable`. Its `type` is `/errors/` and the code: a reference to a page about
it, which every server has (`http://127.0.0.1:8765/errors/voice_not_found`), without a key and without another host. A
program that looks at `type` compares it as it stands; one that shows it resolves it against the address that it asked.

Under `/v1/audio/` a refusal has the shape of OpenAI's API, with the same codes. What happens after a job was accepted
is in the job's `error`, in the shape of a refusal and with the same codes; `retryable` says there whether
`POST …/retry` may help with nothing changed.

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

**Where it is met:** {met(code)}.
"""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _where(code: ProblemCode) -> str:
    places = [str(status) for status in code.statuses] + (["job"] if code.in_jobs else [])
    return ", ".join(places)
