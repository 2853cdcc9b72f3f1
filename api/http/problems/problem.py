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

from api.http.problems.codes import BY_CODE, problem_type
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
        document = {"error": openai_error(problem)}
        return Response(json.dumps(document), problem.status, problem.headers, "application/json")
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


def problem(
    code: str,
    detail: str,
    *,
    at: str | None = None,
    flaw: str = "not_found",
    status: int | None = None,
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
    retry_after_s: float | None = None,
    retryable: bool = False,
) -> HttpProblem:
    """With the usual status and the title of its code, unless they are given.

    at: a JSON pointer to the field at fault. flaw: what is wrong with it. retry_after_s: after which the same request
    may succeed.
    """
    violations = () if at is None else (FieldViolation(flaw, detail, pointer=at),)
    if retry_after_s is not None:
        headers, retryable = {"Retry-After": whole_seconds(retry_after_s)}, True
    return HttpProblem(
        status or BY_CODE[code].statuses[0],
        code,
        title or BY_CODE[code].title,
        detail,
        violations,
        headers,
        retryable=retryable,
    )


def malformed(detail: str) -> HttpProblem:
    """The bytes are not what they claim to be."""
    return problem("invalid_request", detail, title="Malformed request")


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
    return problem("text_too_long", detail, at=pointer, flaw="too_long")


def speech_too_long(expected_audio_ms: int, limit_ms: int) -> HttpProblem:
    detail = f"the text would sound for about {_hours(expected_audio_ms)}; one job takes at most {_hours(limit_ms)}"
    return problem("text_too_long", detail, at="/input", flaw="too_long")


def voice_not_found(voice: str, model: str, known: Sequence[str]) -> HttpProblem:
    detail = f"{model} has no voice {voice!r}; it has: {', '.join(known) or 'none'}; none of yours has this name"
    return problem("voice_not_found", detail, at="/voice")


def no_clones(model: str, pointer: str) -> HttpProblem:
    detail = f"{model} cannot clone voices; of the published checkpoints, Qwen3-TTS Base can"
    return invalid_field(pointer, "not_supported", detail)


def name_taken(detail: str) -> HttpProblem:
    return problem("name_taken", detail, at="/name", flaw="taken")


def consent_missing() -> HttpProblem:
    detail = "cloning a voice needs the statement that the speaker agrees in the field `consent`"
    return problem("invalid_request", detail, at="/consent", flaw="missing", status=422, title="Consent is missing")


def decoder_unavailable() -> HttpProblem:
    detail = "this server cannot decode recordings at the moment; its log says why"
    return problem("decoder_unavailable", detail, headers={"Retry-After": "30"})


def not_ready(detail: str, retry_after_s: float, pointer: str = "/voice") -> HttpProblem:
    return problem("voice_cache_not_ready", detail, at=pointer, flaw="not_ready", retry_after_s=retry_after_s)


def unsupported_language(language: str, model: str, known: Sequence[str], pointer: str = "/language") -> HttpProblem:
    detail = f"{model} does not speak {language!r}; use one of: {', '.join(('auto', *known))}"
    return problem("unsupported_language", detail, at=pointer)


def unreadable_text(script: str, start: int, model: str, languages: Sequence[str], pointer: str) -> HttpProblem:
    detail = foreign_text_detail(script, start, model, languages)
    return problem("unsupported_language", detail, at=pointer, flaw="unreadable_letters")


def model_not_found(model: str, known: Sequence[str]) -> HttpProblem:
    detail = f"there is no model {model!r}; there is: {', '.join(known) or 'none'}"
    return problem("model_not_available", detail, at="/model")


def model_away(model: str, seen_at: datetime, served: Sequence[str]) -> HttpProblem:
    seen = seen_at.isoformat(timespec="seconds")
    detail = f"no worker serves {model}, which was last seen at {seen}; served now: {', '.join(served)}"
    title = "Model has no worker"
    return problem(
        "model_not_available", detail, at="/model", flaw="not_available", status=503, title=title, retry_after_s=30
    )


def no_model() -> HttpProblem:
    detail = "no worker has announced a model yet"
    return problem("model_not_available", detail, status=503, title="No model is available", retry_after_s=5)


def payload_too_large(limit: int) -> HttpProblem:
    return problem("payload_too_large", f"a request body has at most {limit:,} bytes")


def message_too_large(limit: int) -> HttpProblem:
    """On an open WebSocket."""
    detail = f"a message of this type has at most {limit:,} bytes"
    return problem("payload_too_large", detail, title="Message is too large")


def payload_too_large_for_speech(num_chars: int, limit: int) -> HttpProblem:
    detail = f"`input` has {num_chars:,} characters; over {limit:,} use /v1/jobs, or respond-async at /v1/audio/speech"
    return problem("payload_too_large", detail, at="/input", flaw="too_long", title="Too long to wait for")


def upload_too_large(limit: int) -> HttpProblem:
    detail = f"an upload has at most {limit:,} bytes"
    return problem("payload_too_large", detail, at="/bytes", flaw="too_large", title="Upload is too large")


def unauthorized(detail: str) -> HttpProblem:
    return problem("unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


def method_not_allowed(method: str, allowed: str) -> HttpProblem:
    detail = f"{method} is not possible here; allowed: {allowed}"
    return problem("method_not_allowed", detail, headers={"Allow": allowed})


def segment_damaged(segment: str, what: str, remedy: str) -> HttpProblem:
    """what: that it is missing, or damaged. remedy: what the caller does about it."""
    return problem("segment_damaged", f"{segment} {what}; {remedy}")


class DeadlineUnreachable(HttpProblem):
    """late_s: how long after the deadline the job would probably end."""

    late_s: float


def deadline_unreachable(deadline: datetime, likely: datetime) -> DeadlineUnreachable:
    detail = (
        f"at the present pace the job would be done at about {likely.isoformat(timespec='seconds')}, "
        f"after its deadline at {deadline.isoformat(timespec='seconds')}"
    )
    violations = (FieldViolation("unreachable", detail, pointer="/deadline"),)
    unreachable = DeadlineUnreachable(409, "deadline_unreachable", "The deadline cannot be kept", detail, violations)
    unreachable.late_s = (likely - deadline).total_seconds()
    return unreachable


def idempotency_mismatch() -> HttpProblem:
    detail = "this Idempotency-Key was used with another request body"
    return problem("idempotency_mismatch", detail).at(_at_header("Idempotency-Key", "mismatch", detail))


def idempotency_in_progress() -> HttpProblem:
    detail = "the first request with this Idempotency-Key is still running; retry in a second"
    found = problem("idempotency_in_progress", detail, retry_after_s=1)
    return found.at(_at_header("Idempotency-Key", "in_progress", detail))


def quota_exceeded(detail: str, retry_after_s: float | None) -> HttpProblem:
    return problem("quota_exceeded", detail, retry_after_s=_spread(retry_after_s))


def backlog_full(detail: str, retry_after_s: float | None) -> HttpProblem:
    return problem("backlog_full", detail, retry_after_s=_spread(retry_after_s))


def _spread(wait_s: float | None) -> float | None:
    """So that those who were refused together do not return together."""
    return None if wait_s is None else wait_s * random.uniform(0.9, 1.2)


def storage_unavailable(reason: str = "a store does not answer") -> HttpProblem:
    return problem("storage_unavailable", f"{reason}; nothing is lost, try again", retry_after_s=2)


def request_timeout(part: str) -> HttpProblem:
    """part: of the request, which came too slowly."""
    return problem("request_timeout", f"the request's {part} did not arrive in time", retryable=True)


def headers_too_large(limit: int) -> HttpProblem:
    return problem("headers_too_large", f"a request's line and header fields have at most {limit:,} bytes together")


def too_many_connections(limit: int) -> HttpProblem:
    return problem("too_many_connections", f"this server holds {limit:,} connections already", retry_after_s=2)


def upgrade_required() -> HttpProblem:
    detail = "this address speaks WebSocket (RFC 6455, version 13); see docs/reference/api.md"
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    return problem("upgrade_required", detail, headers=headers)


def input_timeout() -> HttpProblem:
    """On an open WebSocket."""
    return problem("input_timeout", "nothing came for too long", retryable=True)


def text_too_slow(longest_s: float) -> HttpProblem:
    """Of one text on an open WebSocket, word after word."""
    detail = f"the text had no end after {longest_s:g} s"
    return problem("input_timeout", detail, title="The text came too slowly", retryable=True)


def connection_expired(longest_s: float) -> HttpProblem:
    detail = f"a WebSocket stays open for {longest_s:g} s; open another"
    return problem("connection_expired", detail, retryable=True)


def range_not_satisfiable(size: int) -> HttpProblem:
    headers = {"Content-Range": f"bytes */{size}"}
    return problem("range_not_satisfiable", f"the object has {size} bytes", headers=headers)


def internal() -> HttpProblem:
    """Says nothing about the cause; the log has it under the request's id."""
    return problem("internal", "the request failed; quote its request_id when you report this")


def whole_seconds(seconds: float) -> str:
    """Retry-After wants whole seconds; at least one, at most five minutes."""
    return str(math.ceil(min(300.0, max(1.0, seconds))))


def _hours(milliseconds: int) -> str:
    return f"{milliseconds / 3_600_000:.1f} hours"


def _at_header(header: str, code: str, detail: str) -> tuple[FieldViolation, ...]:
    return (FieldViolation(code, detail, header=header),)
