"""Every code that a refusal or a job's `error` can have: the machine-readable part of the contract.

A code is never renamed or given another meaning; new ones may come. `api/http/problems/ERRORS.md` and the pages at
`/errors` are made of this table.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

RETRIES = (
    "After a 4xx, change the request. Exceptions are 408, 429 and a 409 with `Retry-After`: repeat those unchanged. "
    "After 503, wait `Retry-After`, then repeat. Report a 500."
)
"""What a client does, by the class of the status."""


@dataclass(frozen=True, slots=True)
class ProblemCode:
    """`statuses`: of answers with this code, the usual one first; none for one that only a job's `error` has.

    remedy: what the caller does. title: heads the `error` of a job that ended with it; empty: none does. retry_helps:
    whether that job, retried as it is, may succeed where it failed.
    """

    code: str
    statuses: tuple[int, ...]
    meaning: str
    remedy: str
    title: str = ""
    retry_helps: bool = False

    @property
    def in_jobs(self) -> bool:
        """Whether a job can end with it."""
        return bool(self.title)


CODES = (
    ProblemCode(
        "invalid_request",
        (400, 406, 422),
        "the request is malformed, or a value is not allowed",
        "read `errors`: each names a field, parameter or header",
        title="Invalid request",
    ),
    ProblemCode("unauthorized", (401,), "the API key is missing, unknown or expired", "send a valid key"),
    ProblemCode(
        "forbidden", (403,), "the key lacks the scope, or the link is invalid", "use another key, or request a new link"
    ),
    ProblemCode(
        "not_found", (404,), "it does not exist, or it belongs to another tenant", "check the id", title="Not found"
    ),
    ProblemCode("voice_not_found", (404,), "no voice has this name", "list `/v1/voices`", title="No such voice"),
    ProblemCode("method_not_allowed", (405,), "this path does not support the method", "see the `Allow` header"),
    ProblemCode("state_conflict", (409,), "the state of the resource does not allow this", "read it again"),
    ProblemCode(
        "name_taken",
        (409,),
        "another voice has this name",
        "choose another name, or delete that voice first",
        title="The name is taken",
    ),
    ProblemCode(
        "voice_cache_not_ready",
        (409,),
        "the voice is still being prepared",
        "retry after `Retry-After`, or send `if_cache_missing: compute`",
        title="Voice cache is not ready",
        retry_helps=True,
    ),
    ProblemCode(
        "voice_cache_stale",
        (409,),
        "the voice was prepared for another model revision",
        "prepare it again",
        title="Voice cache is stale",
    ),
    ProblemCode(
        "deadline_unreachable",
        (409,),
        "at the measured throughput the job would miss its deadline",
        "set a later deadline or a higher priority",
    ),
    ProblemCode(
        "idempotency_in_progress", (409,), "the first request with this key is still running", "retry in a second"
    ),
    ProblemCode(
        "idempotency_mismatch", (422,), "the key was used with another request", "use a new key for a new request"
    ),
    ProblemCode("request_timeout", (408,), "the request arrived too slowly", "retry it"),
    ProblemCode(
        "input_timeout",
        (408,),
        "a WebSocket timed out: no message came, or its text did not end",
        "connect again when you have text",
    ),
    ProblemCode("connection_expired", (408,), "a WebSocket reached its maximum age", "open another connection"),
    ProblemCode(
        "protocol_violated",
        (400,),
        "a WebSocket message is unknown or out of order",
        "see `WS /v1/audio/speech/ws` in docs/reference/api.md",
    ),
    ProblemCode("upgrade_required", (426,), "this path supports WebSocket only", "use a WebSocket client"),
    ProblemCode("gone", (410,), "it was deleted, or its retention ended", "create it again"),
    ProblemCode("payload_too_large", (413,), "the body is too large", "send less, use `/v1/uploads`, or make a job"),
    ProblemCode(
        "unsupported_media",
        (415, 422),
        "the content type is unsupported, or a file is unusable",
        "read `detail`",
        title="Unsupported media",
    ),
    ProblemCode("range_not_satisfiable", (416,), "the range is outside the object", "see `Content-Range`"),
    ProblemCode(
        "input_too_complex",
        (422,),
        "parsing exceeded its CPU time or memory",
        "split the input, or simplify what repeats in it",
        title="The input takes too long to read",
    ),
    ProblemCode(
        "document_without_text",
        (422,),
        "the document is a scan without text",
        "run OCR on it first",
        title="No text in the document",
    ),
    ProblemCode(
        "text_too_long",
        (422,),
        "the text or its speech is too long for one job",
        "submit several jobs",
        title="Text is too long",
    ),
    ProblemCode(
        "unsupported_language",
        (422,),
        "the model lacks the language, or the text's script",
        "use a model of `/v1/models` with this language",
        title="Language is not supported",
    ),
    ProblemCode("headers_too_large", (431,), "the headers are too large", "send less"),
    ProblemCode("rate_limited", (429,), "the tenant exceeded its rate limit", "retry after `Retry-After`"),
    ProblemCode(
        "quota_exceeded",
        (429,),
        "the tenant reached its quota of jobs, audio or voices",
        "wait until unfinished jobs end, or cancel jobs or delete voices",
        title="Your limit is reached",
        retry_helps=True,
    ),
    ProblemCode("live_full", (429,), "all live slots are busy", "retry after `Retry-After`, or submit a job"),
    ProblemCode(
        "listener_too_slow",
        (408,),
        "the client read a live stream too slowly, so it ended",
        "read faster, or submit a job",
    ),
    ProblemCode(
        "server_stopping",
        (503,),
        "the server is shutting down and rejected or ended a live stream",
        "retry",
    ),
    ProblemCode(
        "internal", (500,), "the server has a bug", "report the `request_id` or the job", title="Internal error"
    ),
    ProblemCode("backlog_full", (503,), "the backlog is full, or speech needs over 120 s", "submit a job; retry later"),
    ProblemCode(
        "server_busy",
        (503,),
        "the server is too busy for another live stream",
        "retry after `Retry-After`",
    ),
    ProblemCode("too_many_connections", (503,), "the server has no free connection", "retry after `Retry-After`"),
    ProblemCode(
        "model_not_available",
        (404, 503),
        "the model does not exist, or no worker serves it",
        "see `/v1/models`, or retry after `Retry-After`",
    ),
    ProblemCode(
        "identity_unavailable",
        (503,),
        "the OIDC issuer's keys are unavailable; API keys still work",
        "retry after `Retry-After`",
    ),
    ProblemCode(
        "storage_unavailable",
        (503,),
        "Redis or the object store does not answer; nothing is lost",
        "retry after `Retry-After`",
        title="Storage is unavailable",
        retry_helps=True,
    ),
    ProblemCode("decoder_unavailable", (503,), "the server cannot decode recordings now", "contact the operator"),
    ProblemCode("webhooks_unavailable", (503,), "the server has no `RHAPSODE_WEBHOOK_KEY`", "contact the operator"),
    ProblemCode(
        "segment_quality",
        (422,),
        "every attempt at a segment was silent, or failed its checks",
        "read the segment's attempts, change its words, or set `keep_best_or_gap`",
        title="A segment did not pass its checks",
        retry_helps=True,
    ),
    ProblemCode(
        "segment_damaged",
        (409,),
        "the store lost or damaged the audio of a finished segment",
        "assemble or retry the job; damaged segments are generated again",
        title="A stored segment is damaged",
        retry_helps=True,
    ),
    ProblemCode(
        "worker_lost",
        (500,),
        "workers died repeatedly at one segment",
        "check its text",
        title="The worker was lost",
    ),
    ProblemCode(
        "deadline_exceeded",
        (504,),
        "the deadline passed before the job ended; at `/v1/audio/speech` 120 s passed",
        "retry with a later deadline; for long speech, submit a job",
        title="Not done in time",
        retry_helps=True,
    ),
    ProblemCode(
        "cancelled_by_user", (), "a user cancelled the job", "nothing, or retry it", title="The job was cancelled"
    ),
    ProblemCode(
        "voice_cache_failed",
        (500,),
        "a voice could not be prepared",
        "read the reason in the voice's cache",
        title="A voice could not be prepared",
    ),
    ProblemCode(
        "voice_cache_corrupt",
        (500,),
        "a prepared voice was damaged twice in the store",
        "prepare it again",
        title="A prepared voice is damaged",
    ),
)

JOB_CODES = {each.code: each for each in CODES if each.in_jobs}
BY_CODE = {each.code: each for each in CODES}
TITLES = {
    "unauthorized": "Unauthorized",
    "forbidden": "Forbidden",
    "method_not_allowed": "Method not allowed",
    "state_conflict": "The state does not allow this",
    "deadline_unreachable": "The deadline cannot be kept",
    "idempotency_in_progress": "The key is in use",
    "idempotency_mismatch": "Idempotency key was used differently",
    "request_timeout": "Request timeout",
    "input_timeout": "No more text came",
    "connection_expired": "The connection is too old",
    "protocol_violated": "The protocol is violated",
    "upgrade_required": "WebSocket is spoken here",
    "gone": "Gone",
    "payload_too_large": "Request body is too large",
    "range_not_satisfiable": "Range not satisfiable",
    "headers_too_large": "Request header fields too large",
    "rate_limited": "Too many requests",
    "live_full": "No place for live speech",
    "listener_too_slow": "The speech could not be made",
    "server_stopping": "This server stops",
    "backlog_full": "The system's backlog is full",
    "server_busy": "This server is busy",
    "too_many_connections": "Too many connections",
    "model_not_available": "No such model",
    "identity_unavailable": "Tokens cannot be verified",
    "decoder_unavailable": "Decoder is unavailable",
    "webhooks_unavailable": "Webhooks are not set up",
} | {each.code: each.title for each in CODES if each.in_jobs}
"""Of answers: a job's `error` with the same code has the same."""

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
