"""What keeps a stream from being opened, and what ends one that was."""

from __future__ import annotations

from api.http.problems.codes import CODES
from api.http.problems.problem import HttpProblem, whole_seconds
from storage.live.messages import OpenRefused

LISTENER_TOO_SLOW = "listener_too_slow"
WORKER_LOST = "worker_lost"

_TITLE = "The speech could not be made"
_STATUSES = {code.code: code.statuses for code in CODES}


class LiveBroken(HttpProblem):
    """A stream that was open ended before its text did. What came of it is as it should be; the status is for a caller
    who was told nothing yet."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(_status_of(code, 500), code, _TITLE, detail, retryable=code == WORKER_LOST)


def live_full(retry_after_s: float) -> HttpProblem:
    detail = "every place for live speech is taken"
    headers = {"Retry-After": whole_seconds(retry_after_s)}
    return HttpProblem(429, "live_full", "No place for live speech", detail, headers=headers, retryable=True)


def server_stopping() -> HttpProblem:
    detail = "this server is being stopped, and begins no speech any more"
    headers = {"Retry-After": "1"}
    return HttpProblem(503, "server_stopping", "This server stops", detail, headers=headers, retryable=True)


def server_late() -> HttpProblem:
    detail = "this server has as much to do as it can do in time, and takes no more live speech"
    headers = {"Retry-After": "2"}
    return HttpProblem(503, "server_busy", "This server is busy", detail, headers=headers, retryable=True)


def not_live(model: str) -> HttpProblem:
    detail = f"no worker speaks {model!r} live now"
    headers = {"Retry-After": "2"}
    return HttpProblem(503, "model_not_available", "No worker speaks live", detail, headers=headers, retryable=True)


def refusal(refused: OpenRefused) -> HttpProblem:
    """What a worker said of an order that none can carry out."""
    return HttpProblem(_status_of(refused.code, 422), refused.code, _TITLE, refused.detail)


def for_now(refused: OpenRefused) -> HttpProblem:
    """What a worker said that may be otherwise in a moment."""
    headers = {"Retry-After": whole_seconds(refused.retry_after_s or 1.0)}
    title = "No worker can speak this now"
    return HttpProblem(503, "model_not_available", title, refused.detail, headers=headers, retryable=True)


def _status_of(code: str, default: int) -> int:
    """The default if a refusal with this code can have it, else one that it has."""
    statuses = _STATUSES.get(code, ())
    return statuses[0] if statuses and default not in statuses else default
