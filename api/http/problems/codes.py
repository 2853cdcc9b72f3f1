"""Every code that a refusal or a job's `error` can have: the machine-readable part of the contract.

A code is never renamed or given another meaning; new ones may come. `api/http/problems/ERRORS.md` and the pages at
`/errors` are made of this table.
"""

from __future__ import annotations

from dataclasses import dataclass


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
        "the request cannot be read, or says something that cannot be asked for",
        "look at `errors`: each names the field, parameter or header",
        title="Invalid request",
    ),
    ProblemCode("unauthorized", (401,), "no API key, or one that is not known or over", "send a valid key"),
    ProblemCode(
        "forbidden", (403,), "the key lacks the scope, or the link is not valid", "use another key; ask for a new link"
    ),
    ProblemCode("not_found", (404,), "there is none, or it is another tenant's", "look at the id", title="Not found"),
    ProblemCode(
        "voice_not_found", (404,), "nobody has a voice of this name", "list `/v1/voices`", title="No such voice"
    ),
    ProblemCode("method_not_allowed", (405,), "this address does not take that method", "see the `Allow` field"),
    ProblemCode("state_conflict", (409,), "the resource is in a state that does not allow this", "read it again"),
    ProblemCode(
        "name_taken",
        (409,),
        "another voice has this name",
        "take another name, or replace that voice",
        title="The name is taken",
    ),
    ProblemCode(
        "voice_cache_not_ready",
        (409,),
        "the voice is still being prepared, and the request does not wait",
        "repeat after `Retry-After`, or say `if_cache_missing: compute`",
        title="Voice cache is not ready",
        retry_helps=True,
    ),
    ProblemCode(
        "voice_cache_stale",
        (409,),
        "the voice was prepared for another revision",
        "prepare it again",
        title="Voice cache is stale",
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
    ProblemCode(
        "input_timeout",
        (408,),
        "on a WebSocket: no message came, or the text had no end, for so long that the place goes to others",
        "connect again when there is text",
    ),
    ProblemCode(
        "connection_expired", (408,), "a WebSocket was open for as long as one may be", "open another connection"
    ),
    ProblemCode(
        "protocol_violated",
        (400,),
        "on a WebSocket: a message that its protocol does not have, or not there",
        "see `WS /v1/audio/speech/ws` in api/README.md",
    ),
    ProblemCode("upgrade_required", (426,), "this address speaks WebSocket alone", "use a WebSocket client"),
    ProblemCode("gone", (410,), "it existed; it was deleted, or its retention is over", "make it anew"),
    ProblemCode("payload_too_large", (413,), "more bytes than are taken", "send less, or use `/v1/uploads`"),
    ProblemCode(
        "unsupported_media",
        (415, 422),
        "the content type is not taken, or a recording or document cannot be used",
        "see the detail",
        title="Unsupported media",
    ),
    ProblemCode("range_not_satisfiable", (416,), "the object has no such bytes", "see `Content-Range`"),
    ProblemCode(
        "input_too_complex",
        (422,),
        "reading the input took more processor time or memory than one input may",
        "divide it, or look for what repeats in it without end",
        title="The input takes too long to read",
    ),
    ProblemCode(
        "document_without_text",
        (422,),
        "the document holds pictures and no text, as a scan does",
        "let a program for recognising text (OCR) make a document with text of it",
        title="No text in the document",
    ),
    ProblemCode(
        "text_too_long", (422,), "more text or speech than one job takes", "make several jobs", title="Text is too long"
    ),
    ProblemCode(
        "unsupported_language",
        (422,),
        "the model does not speak it, or the text is in letters that none of its languages has",
        "see `/v1/models`",
        title="Language is not supported",
    ),
    ProblemCode("headers_too_large", (431,), "more header bytes than are taken", "send less"),
    ProblemCode("rate_limited", (429,), "more requests than the tenant is allowed", "repeat after `Retry-After`"),
    ProblemCode(
        "quota_exceeded",
        (429,),
        "the tenant holds as much as it may: jobs, audio or voices",
        "repeat after `Retry-After`, or delete something",
        title="Your limit is reached",
        retry_helps=True,
    ),
    ProblemCode(
        "live_full", (429,), "every place for live speech is taken", "repeat after `Retry-After`, or make a job of it"
    ),
    ProblemCode(
        "listener_too_slow",
        (408,),
        "a live stream was not read for half a minute, and was ended",
        "read what comes as it comes, or make a job of it",
    ),
    ProblemCode(
        "server_stopping",
        (503,),
        "the server is being stopped: a live stream did not begin, or had not ended when its time was over",
        "ask again: another server answers, or this one in a moment",
    ),
    ProblemCode(
        "internal", (500,), "a fault of this server", "report the `request_id`, or the job", title="Internal error"
    ),
    ProblemCode(
        "backlog_full", (503,), "the whole system has as much waiting as it takes", "repeat after `Retry-After`"
    ),
    ProblemCode(
        "server_busy",
        (503,),
        "the server takes no more live speech, so that it keeps up with what it has taken",
        "repeat after `Retry-After`",
    ),
    ProblemCode("too_many_connections", (503,), "this server has no room for another", "repeat after `Retry-After`"),
    ProblemCode(
        "model_not_available",
        (404, 503),
        "there is no such model, or no worker serves it now",
        "see `/v1/models`; repeat after `Retry-After`",
    ),
    ProblemCode(
        "identity_unavailable",
        (503,),
        "the issuer of tokens (OIDC) does not tell its keys, so yours cannot be verified; API keys work as ever",
        "repeat after `Retry-After`",
    ),
    ProblemCode(
        "storage_unavailable",
        (503,),
        "Redis or the object store does not answer; nothing is lost",
        "repeat after `Retry-After`",
        title="Storage is unavailable",
        retry_helps=True,
    ),
    ProblemCode("decoder_unavailable", (503,), "this server cannot decode recordings now", "tell its operator"),
    ProblemCode("webhooks_unavailable", (503,), "this server has no key to keep secrets with", "tell its operator"),
    ProblemCode(
        "segment_quality",
        (422,),
        "no attempt at a segment can be heard, or none passed its checks and the job keeps no other",
        "see the segment: what was tried, found and can be listened to; other words, or `keep_best_or_gap`",
        title="A segment did not pass its checks",
        retry_helps=True,
    ),
    ProblemCode(
        "segment_damaged",
        (409,),
        "the store lost or damaged the audio of a finished segment",
        "assemble or retry the job: what is damaged is spoken again, as the same take",
        title="A stored segment is damaged",
        retry_helps=True,
    ),
    ProblemCode(
        "worker_lost",
        (500,),
        "the worker died again and again at one segment",
        "look at that text",
        title="The worker was lost",
    ),
    ProblemCode(
        "deadline_exceeded",
        (504,),
        "the deadline passed before the job was done",
        "retry with a new one",
        title="Not done in time",
        retry_helps=True,
    ),
    ProblemCode(
        "cancelled_by_user", (), "somebody cancelled the job", "nothing, or retry it", title="The job was cancelled"
    ),
    ProblemCode(
        "voice_cache_failed",
        (500,),
        "a voice could not be prepared",
        "see the voice's cache for the reason",
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

KNOWN = frozenset(each.code for each in CODES)
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


def problem_type(code: str) -> str:
    """The `type` of a problem document: a reference (RFC 3986) to the page about it, at the server that was asked."""
    return f"{PAGES}/{code}"
