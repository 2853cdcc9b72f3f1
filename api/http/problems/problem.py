"""What a refusal looks like (RFC 9457) and every refusal this API knows. Nothing else names a status code of 4xx."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from starlette.responses import Response

from api.http.problems.codes import problem_type
from reading.languages.writing_systems import foreign_text_detail

MEDIA_TYPE = "application/problem+json"

OPENAI_PREFIX = "/v1/audio/"

MAX_VIOLATIONS = 20


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One thing wrong with a request: a JSON pointer into its body, or the name of a query parameter or header."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None


class HttpProblem(Exception):
    """Raised anywhere in a route; answered as a problem document."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str,
        violations: Sequence[FieldViolation] = (),
        headers: Mapping[str, str] | None = None,
        *,
        retryable: bool = False,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.violations = violations
        self.headers = headers or {}
        self.retryable = retryable

    def at(self, violations: Sequence[FieldViolation]) -> HttpProblem:
        """The same, found at other places of the request."""
        return HttpProblem(
            self.status, self.code, self.title, self.detail, violations, self.headers, retryable=self.retryable
        )


def problem_response(problem: HttpProblem, path: str, request_id: str) -> Response:
    """In the shape that callers of this path know: OpenAI's under /v1/audio/, else a problem document."""
    if path.startswith(OPENAI_PREFIX):
        return _openai_response(problem)
    document = {
        "type": problem_type(problem.code),
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "instance": path,
        "code": problem.code,
        "request_id": request_id,
        "retryable": problem.retryable,
        "errors": [_violation(violation) for violation in problem.violations[:MAX_VIOLATIONS]],
    }
    # Escaped to ASCII: a refused text may hold lone surrogates, and its field names are quoted here.
    return Response(json.dumps(document), problem.status, problem.headers, MEDIA_TYPE)


def _openai_response(problem: HttpProblem) -> Response:
    document = json.dumps({"error": openai_error(problem)})
    return Response(document, problem.status, problem.headers, "application/json")


def openai_error(problem: HttpProblem) -> dict[str, JsonValue]:
    first = problem.violations[0] if problem.violations else None
    return {
        "message": problem.detail,
        "type": "invalid_request_error" if problem.status < 500 else "server_error",
        # What a job calls /input/text is just the input there.
        "param": first.pointer.strip("/").removesuffix("/text") if first and first.pointer else None,
        "code": problem.code,
    }


def _violation(violation: FieldViolation) -> dict[str, str]:
    places = {"pointer": violation.pointer, "parameter": violation.parameter, "header": violation.header}
    named = {name: place for name, place in places.items() if place is not None}
    return {**named, "code": violation.code, "detail": violation.detail}


def malformed(detail: str) -> HttpProblem:
    """The bytes are not what they claim to be."""
    return HttpProblem(400, "invalid_request", "Malformed request", detail)


def invalid(violations: Sequence[FieldViolation]) -> HttpProblem:
    """The bytes can be read and say something that cannot be asked for."""
    first = violations[0]
    place = first.pointer or first.parameter or first.header
    detail = f"{place}: {first.detail}" if place else first.detail
    return HttpProblem(422, "invalid_request", "Invalid request", detail, tuple(violations))


def invalid_field(pointer: str, code: str, detail: str) -> HttpProblem:
    return invalid([FieldViolation(code, detail, pointer=pointer)])


def invalid_header(header: str, code: str, detail: str) -> HttpProblem:
    return HttpProblem(
        400, "invalid_request", "Invalid request header", f"{header}: {detail}", _at_header(header, code, detail)
    )


def text_too_long(num_chars: int, limit: int, pointer: str = "/input/text") -> HttpProblem:
    detail = f"the text has {num_chars:,} characters; one job takes at most {limit:,}"
    return HttpProblem(422, "text_too_long", "Text is too long", detail, _at(pointer, "too_long", detail))


def speech_too_long(expected_audio_ms: int, limit_ms: int) -> HttpProblem:
    detail = f"the text would sound for about {_hours(expected_audio_ms)}; one job takes at most {_hours(limit_ms)}"
    return HttpProblem(422, "text_too_long", "Text is too long", detail, _at("/input", "too_long", detail))


def voice_not_found(voice: str, model: str, known: Sequence[str]) -> HttpProblem:
    detail = f"{model} has no voice {voice!r}; it has: {', '.join(known) or 'none'}"
    return HttpProblem(404, "voice_not_found", "No such voice", detail, _at("/voice", "not_found", detail))


def voice_unknown(detail: str) -> HttpProblem:
    return HttpProblem(404, "voice_not_found", "No such voice", detail)


def name_taken(detail: str) -> HttpProblem:
    return HttpProblem(409, "name_taken", "The name is taken", detail, _at("/name", "taken", detail))


def consent_missing() -> HttpProblem:
    detail = "cloning a voice needs the statement that the speaker agrees in the field `consent`"
    return HttpProblem(422, "invalid_request", "Consent is missing", detail, _at("/consent", "missing", detail))


def decoder_unavailable() -> HttpProblem:
    detail = "this server cannot decode recordings at the moment; its log says why"
    return HttpProblem(503, "decoder_unavailable", "Decoder is unavailable", detail, headers={"Retry-After": "30"})


def not_ready(detail: str, retry_after_s: float) -> HttpProblem:
    headers = {"Retry-After": whole_seconds(retry_after_s)}
    return HttpProblem(
        409,
        "voice_cache_not_ready",
        "Voice cache is not ready",
        detail,
        _at("/voice", "not_ready", detail),
        headers,
        retryable=True,
    )


def stale_cache(detail: str) -> HttpProblem:
    return HttpProblem(409, "voice_cache_stale", "Voice cache is stale", detail, _at("/voice", "stale", detail))


def unsupported_language(language: str, model: str, known: Sequence[str], pointer: str = "/language") -> HttpProblem:
    detail = f"{model} does not speak {language!r}; use one of: {', '.join(('auto', *known))}"
    return HttpProblem(
        422, "unsupported_language", "Language is not supported", detail, _at(pointer, "not_found", detail)
    )


def unreadable_text(script: str, start: int, model: str, languages: Sequence[str], pointer: str) -> HttpProblem:
    detail = foreign_text_detail(script, start, model, languages)
    return HttpProblem(
        422, "unsupported_language", "Language is not supported", detail, _at(pointer, "unreadable_letters", detail)
    )


def model_not_found(model: str, known: Sequence[str]) -> HttpProblem:
    detail = f"there is no model {model!r}; there is: {', '.join(known) or 'none'}"
    return HttpProblem(404, "model_not_available", "No such model", detail, _at("/model", "not_found", detail))


def model_away(model: str, seen_at: datetime, served: Sequence[str]) -> HttpProblem:
    seen = seen_at.isoformat(timespec="seconds")
    detail = f"no worker serves {model}, which was last seen at {seen}; served now: {', '.join(served)}"
    violations = _at("/model", "not_available", detail)
    headers = {"Retry-After": "30"}
    return HttpProblem(503, "model_not_available", "Model has no worker", detail, violations, headers, retryable=True)


def no_model() -> HttpProblem:
    detail = "no worker has announced a model yet"
    return HttpProblem(
        503, "model_not_available", "No model is available", detail, headers={"Retry-After": "5"}, retryable=True
    )


def payload_too_large(limit: int) -> HttpProblem:
    detail = f"a request body has at most {limit:,} bytes"
    return HttpProblem(413, "payload_too_large", "Request body is too large", detail)


def message_too_large(limit: int) -> HttpProblem:
    """On an open WebSocket."""
    return HttpProblem(
        413, "payload_too_large", "Message is too large", f"a message of this type has at most {limit:,} bytes"
    )


def payload_too_large_for_speech(num_chars: int, limit: int) -> HttpProblem:
    detail = f"`input` has {num_chars:,} characters, and at most {limit:,} are spoken while you wait; use /v1/jobs"
    return HttpProblem(413, "payload_too_large", "Too long to wait for", detail, _at("/input", "too_long", detail))


def upload_too_large(limit: int) -> HttpProblem:
    detail = f"an upload has at most {limit:,} bytes"
    return HttpProblem(413, "payload_too_large", "Upload is too large", detail, _at("/bytes", "too_large", detail))


def unsupported_media(detail: str) -> HttpProblem:
    return HttpProblem(415, "unsupported_media", "Unsupported media", detail)


def unauthorized(detail: str) -> HttpProblem:
    return HttpProblem(401, "unauthorized", "Unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


def forbidden(detail: str) -> HttpProblem:
    return HttpProblem(403, "forbidden", "Forbidden", detail)


def not_found(detail: str) -> HttpProblem:
    return HttpProblem(404, "not_found", "Not found", detail)


def gone(detail: str) -> HttpProblem:
    return HttpProblem(410, "gone", "Gone", detail)


def method_not_allowed(method: str, allowed: str) -> HttpProblem:
    detail = f"{method} is not possible here; allowed: {allowed}"
    return HttpProblem(405, "method_not_allowed", "Method not allowed", detail, headers={"Allow": allowed})


def state_conflict(detail: str) -> HttpProblem:
    return HttpProblem(409, "state_conflict", "The state does not allow this", detail)


def segment_damaged(segment: str, what: str, remedy: str) -> HttpProblem:
    """what: that it is missing, or damaged. remedy: what the caller does about it."""
    return HttpProblem(409, "segment_damaged", "A stored segment is damaged", f"{segment} {what}; {remedy}")


class DeadlineUnreachable(HttpProblem):
    """late_s: how long after the deadline the job would probably end."""

    late_s: float


def deadline_unreachable(deadline: datetime, likely: datetime) -> DeadlineUnreachable:
    detail = (
        f"at the present pace the job would be done at about {likely.isoformat(timespec='seconds')}, "
        f"after its deadline at {deadline.isoformat(timespec='seconds')}"
    )
    violations = _at("/deadline", "unreachable", detail)
    problem = DeadlineUnreachable(409, "deadline_unreachable", "The deadline cannot be kept", detail, violations)
    problem.late_s = (likely - deadline).total_seconds()
    return problem


def idempotency_mismatch() -> HttpProblem:
    detail = "this Idempotency-Key was used with another request body"
    violations = _at_header("Idempotency-Key", "mismatch", detail)
    return HttpProblem(422, "idempotency_mismatch", "Idempotency key was used differently", detail, violations)


def idempotency_in_progress() -> HttpProblem:
    detail = "the first request with this Idempotency-Key is still being carried out; its answer can be had in a moment"
    violations = _at_header("Idempotency-Key", "in_progress", detail)
    headers = {"Retry-After": "1"}
    return HttpProblem(409, "idempotency_in_progress", "The key is in use", detail, violations, headers, retryable=True)


def rate_limited(detail: str, retry_after_s: int) -> HttpProblem:
    headers = {"Retry-After": whole_seconds(retry_after_s)}
    return HttpProblem(429, "rate_limited", "Too many requests", detail, headers=headers, retryable=True)


def quota_exceeded(detail: str, retry_after_s: float | None) -> HttpProblem:
    headers = _admission_wait(retry_after_s)
    title = "Your limit is reached"
    return HttpProblem(429, "quota_exceeded", title, detail, headers=headers, retryable=retry_after_s is not None)


def backlog_full(detail: str, retry_after_s: float | None) -> HttpProblem:
    headers = _admission_wait(retry_after_s)
    title = "The system's backlog is full"
    return HttpProblem(503, "backlog_full", title, detail, headers=headers, retryable=retry_after_s is not None)


def _admission_wait(retry_after_s: float | None) -> dict[str, str]:
    """Spread, so that those who were refused together do not return together."""
    if retry_after_s is None:
        return {}
    return {"Retry-After": whole_seconds(retry_after_s * random.uniform(0.9, 1.2))}


def storage_unavailable() -> HttpProblem:
    detail = "a store does not answer; nothing is lost, try again"
    return HttpProblem(
        503, "storage_unavailable", "Storage is unavailable", detail, headers={"Retry-After": "2"}, retryable=True
    )


def identity_unavailable(detail: str) -> HttpProblem:
    title = "Tokens cannot be verified"
    return HttpProblem(503, "identity_unavailable", title, detail, headers={"Retry-After": "30"}, retryable=True)


def request_timeout(part: str) -> HttpProblem:
    """part: of the request, which came too slowly."""
    detail = f"the request's {part} did not arrive in time"
    return HttpProblem(408, "request_timeout", "Request timeout", detail, retryable=True)


def headers_too_large(limit: int) -> HttpProblem:
    detail = f"a request's line and header fields have at most {limit:,} bytes together"
    return HttpProblem(431, "headers_too_large", "Request header fields too large", detail)


def too_many_connections(limit: int) -> HttpProblem:
    detail = f"this server holds {limit:,} connections already"
    return HttpProblem(
        503, "too_many_connections", "Too many connections", detail, headers={"Retry-After": "2"}, retryable=True
    )


def upgrade_required() -> HttpProblem:
    detail = "this address speaks WebSocket (RFC 6455, version 13); see docs/reference/api.md"
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    return HttpProblem(426, "upgrade_required", "WebSocket is spoken here", detail, headers=headers)


def violated_protocol(detail: str) -> HttpProblem:
    """What came on an open WebSocket is not what its protocol has there."""
    return HttpProblem(400, "protocol_violated", "The protocol is violated", detail)


def input_timeout() -> HttpProblem:
    """On an open WebSocket."""
    return HttpProblem(408, "input_timeout", "No more text came", "nothing came for too long", retryable=True)


def text_too_slow(longest_s: float) -> HttpProblem:
    """Of one text on an open WebSocket, word after word."""
    detail = f"the text had no end after {longest_s:g} s"
    return HttpProblem(408, "input_timeout", "The text came too slowly", detail, retryable=True)


def connection_expired(longest_s: float) -> HttpProblem:
    detail = f"a WebSocket stays open for {longest_s:g} s; open another"
    return HttpProblem(408, "connection_expired", "The connection is too old", detail, retryable=True)


def too_many_sockets(limit: int) -> HttpProblem:
    detail = f"you hold {limit:,} WebSockets at this server already"
    headers = {"Retry-After": "2"}
    return HttpProblem(503, "too_many_connections", "Too many connections", detail, headers=headers, retryable=True)


def range_not_satisfiable(size: int) -> HttpProblem:
    headers = {"Content-Range": f"bytes */{size}"}
    return HttpProblem(
        416, "range_not_satisfiable", "Range not satisfiable", f"the object has {size} bytes", headers=headers
    )


def internal() -> HttpProblem:
    """Says nothing about the cause; the log has it under the request's id."""
    return HttpProblem(
        500, "internal", "Internal error", "the request failed; quote its request_id when you report this"
    )


def whole_seconds(seconds: float) -> str:
    """Retry-After wants whole seconds; at least one, at most five minutes."""
    return str(math.ceil(min(300.0, max(1.0, seconds))))


def _hours(milliseconds: int) -> str:
    return f"{milliseconds / 3_600_000:.1f} hours"


def _at(pointer: str, code: str, detail: str) -> tuple[FieldViolation, ...]:
    return (FieldViolation(code, detail, pointer=pointer),)


def _at_header(header: str, code: str, detail: str) -> tuple[FieldViolation, ...]:
    return (FieldViolation(code, detail, header=header),)
