"""Every code that a refusal or a job's `error` can have: the machine-readable part of the contract.

`python -m api.problem_codes` prints the table of `api/ERRORS.md`. A code is never renamed or given another meaning;
new ones may come.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemCode:
    """`statuses`: of answers with this code; none for one that only a job's `error` has.

    remedy: what the caller does. in_jobs: whether a job can end with it.
    """

    code: str
    statuses: tuple[int, ...]
    meaning: str
    remedy: str
    in_jobs: bool = False


CODES = (
    ProblemCode(
        "invalid_request",
        (400, 406, 422),
        "the request cannot be read, or says something that cannot be asked for",
        "look at `errors`: each names the field, parameter or header",
        in_jobs=True,
    ),
    ProblemCode("unauthorized", (401,), "no API key, or one that is not known or over", "send a valid key"),
    ProblemCode(
        "forbidden", (403,), "the key lacks the scope, or the link is not valid", "use another key; ask for a new link"
    ),
    ProblemCode("not_found", (404,), "there is none, or it is another tenant's", "look at the id", in_jobs=True),
    ProblemCode("voice_not_found", (404,), "nobody has a voice of this name", "list `/v1/voices`", in_jobs=True),
    ProblemCode("method_not_allowed", (405,), "this address does not take that method", "see the `Allow` field"),
    ProblemCode("state_conflict", (409,), "the resource is in a state that does not allow this", "read it again"),
    ProblemCode(
        "name_taken", (409,), "another voice has this name", "take another name, or replace that voice", in_jobs=True
    ),
    ProblemCode(
        "voice_cache_not_ready",
        (409,),
        "the voice is still being prepared, and the request does not wait",
        "repeat after `Retry-After`, or say `if_cache_missing: compute`",
        in_jobs=True,
    ),
    ProblemCode(
        "voice_cache_stale", (409,), "the voice was prepared for another revision", "prepare it again", in_jobs=True
    ),
    ProblemCode(
        "deadline_unreachable",
        (409,),
        "at the measured pace the job would end after its deadline",
        "give it more time or a higher priority",
    ),
    ProblemCode(
        "idempotency_in_progress", (409,), "the key's first request is still being carried out", "repeat in a second"
    ),
    ProblemCode(
        "idempotency_mismatch", (422,), "the key was used with another request", "take a new key for a new request"
    ),
    ProblemCode("request_timeout", (408,), "the request came too slowly", "repeat it"),
    ProblemCode("gone", (410,), "it existed; it was deleted, or its retention is over", "make it anew"),
    ProblemCode("payload_too_large", (413,), "more bytes than are taken", "send less, or use `/v1/uploads`"),
    ProblemCode(
        "unsupported_media",
        (415, 422),
        "the content type is not taken, or a recording or document cannot be used",
        "see the detail",
        in_jobs=True,
    ),
    ProblemCode("range_not_satisfiable", (416,), "the object has no such bytes", "see `Content-Range`"),
    ProblemCode("text_too_long", (422,), "more text or speech than one job takes", "make several jobs", in_jobs=True),
    ProblemCode(
        "unsupported_language",
        (422,),
        "the model does not speak it, or the text is in letters that none of its languages has",
        "see `/v1/models`",
        in_jobs=True,
    ),
    ProblemCode("headers_too_large", (431,), "more header bytes than are taken", "send less"),
    ProblemCode("rate_limited", (429,), "more requests than the tenant is allowed", "repeat after `Retry-After`"),
    ProblemCode(
        "quota_exceeded",
        (429,),
        "the tenant holds as much as it may: jobs, audio, voices or bytes",
        "repeat after `Retry-After`, or delete something",
        in_jobs=True,
    ),
    ProblemCode("internal", (500,), "a fault of this server", "report the `request_id`", in_jobs=True),
    ProblemCode(
        "backlog_full", (503,), "the whole system has as much waiting as it takes", "repeat after `Retry-After`"
    ),
    ProblemCode("too_many_connections", (503,), "this server has no room for another", "repeat after `Retry-After`"),
    ProblemCode(
        "model_not_available",
        (404, 503),
        "there is no such model, or no worker serves it now",
        "see `/v1/models`; repeat after `Retry-After`",
    ),
    ProblemCode(
        "storage_unavailable",
        (503,),
        "Redis or the object store does not answer; nothing is lost",
        "repeat after `Retry-After`",
        in_jobs=True,
    ),
    ProblemCode("decoder_unavailable", (503,), "this server cannot decode recordings now", "tell its operator"),
    ProblemCode("webhooks_unavailable", (503,), "this server has no key to keep secrets with", "tell its operator"),
    ProblemCode(
        "segment_quality", (500,), "a segment failed its checks in every attempt", "see the segment", in_jobs=True
    ),
    ProblemCode(
        "worker_lost", (500,), "the worker died again and again at one segment", "look at that text", in_jobs=True
    ),
    ProblemCode(
        "deadline_exceeded", (504,), "the deadline passed before the job was done", "retry with a new one", in_jobs=True
    ),
    ProblemCode("cancelled_by_user", (), "somebody cancelled the job", "nothing, or retry it", in_jobs=True),
    ProblemCode(
        "voice_cache_failed",
        (500,),
        "a voice could not be prepared",
        "see the voice's cache for the reason",
        in_jobs=True,
    ),
    ProblemCode(
        "voice_cache_corrupt",
        (500,),
        "a prepared voice was damaged twice in the store",
        "prepare it again",
        in_jobs=True,
    ),
)

KNOWN = frozenset(each.code for each in CODES)


def errors_document() -> str:
    """The content of `api/ERRORS.md`."""
    rows = [f"| `{each.code}` | {_where(each)} | {each.meaning} | {each.remedy} |" for each in CODES]
    return "\n".join((_HEAD, *rows)) + "\n"


_HEAD = """\
# Errors

Made from `api/problem_codes.py` by `python -m api.problem_codes > api/ERRORS.md`; a test compares them.

A refusal is `application/problem+json` (RFC 9457) with `code`, `detail`, `errors` (each with a JSON pointer, a
parameter or a header), `request_id` and `retryable`. Under `/v1/audio/` it has the shape of OpenAI's API, with the same
codes. What happens after a job was accepted is in the job's `error`, with the same codes.

| code | status | means | do |
|---|---|---|---|"""


def _where(code: ProblemCode) -> str:
    places = [str(status) for status in code.statuses] + (["job"] if code.in_jobs else [])
    return ", ".join(places)


def main() -> None:
    print(errors_document(), end="")  # noqa: T201 - its one purpose


if __name__ == "__main__":
    main()
