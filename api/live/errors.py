"""What keeps a stream from being opened, and what ends one that was."""

from __future__ import annotations

from api.http.problems.codes import BY_CODE
from api.http.problems.problem import HttpProblem, problem
from storage.live.messages import OpenRefused

LISTENER_TOO_SLOW = "listener_too_slow"
WORKER_LOST = "worker_lost"

_TITLE = "The speech could not be made"


class LiveBroken(HttpProblem):
    """A stream that was open ended before its text did. Its result is correct; the status is for a caller without an
    answer so far.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(_status_of(code, 500), code, _TITLE, detail, retryable=code == WORKER_LOST)


def live_full(retry_after_s: float) -> HttpProblem:
    return problem("live_full", "every place for live speech is taken", retry_after_s=retry_after_s)


def server_stopping() -> HttpProblem:
    detail = "this server is being stopped, and begins no speech any more"
    return problem("server_stopping", detail, retry_after_s=1)


def server_late() -> HttpProblem:
    detail = "this server has as much to do as it can do in time, and takes no more live speech"
    return problem("server_busy", detail, retry_after_s=2)


def not_live(model: str) -> HttpProblem:
    detail = f"no worker speaks {model!r} live now"
    return problem("model_not_available", detail, status=503, title="No worker speaks live", retry_after_s=2)


def refusal(refused: OpenRefused) -> HttpProblem:
    """What a worker said of an order that none can carry out."""
    return HttpProblem(_status_of(refused.code, 422), refused.code, _TITLE, refused.detail)


def for_now(refused: OpenRefused) -> HttpProblem:
    """What a worker said that may be otherwise in a moment."""
    title, wait_s = "No worker can speak this now", refused.retry_after_s or 1.0
    return problem("model_not_available", refused.detail, status=503, title=title, retry_after_s=wait_s)


def _status_of(code: str, default: int) -> int:
    """The default if a refusal with this code can have it, else one that it has."""
    known = BY_CODE.get(code)
    return known.statuses[0] if known and known.statuses and default not in known.statuses else default
