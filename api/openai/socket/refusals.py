"""A `HttpProblem` on an open connection: the code that it is closed with, and the event that says why."""

from __future__ import annotations

from pydantic import JsonValue

from api.http.problems.problem import HttpProblem
from api.openai.socket.actions import Close, Send

NORMAL = 1000
GOING_AWAY = 1001
UNSUPPORTED_DATA = 1003
POLICY = 1008
TOO_BIG = 1009
SERVER_FAULT = 1011
SERVICE_RESTART = 1012
TRY_LATER = 1013

_OF_CODES = {"server_stopping": SERVICE_RESTART, "connection_expired": GOING_AWAY}
"""What no status tells."""

MAX_REASON_BYTES = 123
"""What a closing frame has room for (RFC 6455, 5.5)."""


def goodbye(problem: HttpProblem) -> Close:
    return Close(close_code(problem), _cut(f"{problem.code}: {problem.detail}"))


def close_code(problem: HttpProblem) -> int:
    if problem.code in _OF_CODES:
        return _OF_CODES[problem.code]
    match problem.status:
        case 429 | 503:
            return TRY_LATER
        case 413:
            return TOO_BIG
        case 415:
            return UNSUPPORTED_DATA
        case status if status >= 500:
            return SERVER_FAULT
        case _:
            return POLICY


def ending(problem: HttpProblem) -> Send:
    """Sent while speech still follows."""
    return Send({"type": "session.ending", "code": problem.code, "message": printable(problem.detail)})


def error_fields(problem: HttpProblem) -> dict[str, JsonValue]:
    """As OpenAI's errors, with what an HTTP answer says outside its body."""
    first = problem.violations[0] if problem.violations else None
    fields: dict[str, JsonValue] = {
        "type": "invalid_request_error" if problem.status < 500 else "server_error",
        "status": problem.status,
        "code": problem.code,
        "message": printable(problem.detail),
        "param": printable(first.pointer.strip("/")) if first and first.pointer else None,
    }
    wait = problem.headers.get("Retry-After")
    return fields if wait is None else {**fields, "retry_after_s": int(wait)}


def printable(text: str) -> str:
    """A refused text may hold half a surrogate pair, and it is quoted in what refuses it."""
    return text.encode("utf-8", "replace").decode()


def _cut(reason: str) -> str:
    return printable(reason).encode()[:MAX_REASON_BYTES].decode("utf-8", "ignore")
