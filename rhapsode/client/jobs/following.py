"""Following a job without doing I/O: where an event stream continues, and how long a wait goes on."""

from __future__ import annotations

import math
import time

import httpx
from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from rhapsode.client.calls import MAX_HOLD_S
from rhapsode.client.resources import Job, JobEvent
from rhapsode.contract.jobs.events import Event
from rhapsode.errors import BadAnswer, WaitTimedOut

EVENT_SILENCE_S = 45.0
"""Three missed keep-alives: the connection is dead, also if no reset came."""


class EventCursor:
    """How far a job's events have been read; survives any number of connections."""

    def __init__(self, after: str | None) -> None:
        self._last_id = after
        self._seen_on_connection = 0
        self.ended = False

    def connecting(self) -> dict[str, str]:
        """The headers that make the server continue behind the last event."""
        self._seen_on_connection = 0
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return headers | ({"Last-Event-ID": self._last_id} if self._last_id else {})

    def take(self, message: ServerSentEvent) -> JobEvent | None:
        """The job's event in a message; None for a message that carries none. Raises `BadAnswer`."""
        if not message.data or not message.id:
            return None
        try:
            payload = Event.model_validate_json(message.data, extra="ignore")
        except ValidationError as error:
            raise BadAnswer(f"not an event of a job: {message.data[:200]!r}") from error
        event = JobEvent(
            id=message.id, type=payload.type, at=payload.timestamp, job=payload.data.job, detail=payload.data.detail
        )
        self._last_id = message.id
        self._seen_on_connection += 1
        self.ended = event.is_last
        return event

    @property
    def brought_nothing(self) -> bool:
        """The last connection ended without an event: the job may have ended before its log was kept."""
        return self._seen_on_connection == 0


class WaitLimit:
    """The time a caller is ready to wait for a job."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = math.inf if timeout_s is None else timeout_s
        self._started_s = time.monotonic()
        self._asked_s = self._started_s

    def next_hold_s(self) -> int:
        """Whole seconds to ask the server for, at most what is left."""
        self._asked_s = time.monotonic()
        return MAX_HOLD_S if self._left_s() >= MAX_HOLD_S else max(0, math.ceil(self._left_s()))

    def pause_before_next(self, job: Job) -> float:
        """Seconds to sleep before asking again; 0 if the server has held the answer. Raises `WaitTimedOut`."""
        if self._left_s() <= 0:
            raise WaitTimedOut(job, self._timeout_s)
        held = time.monotonic() - self._asked_s >= 1.0
        return 0.0 if held else min(0.5, self._left_s())

    def _left_s(self) -> float:
        return self._started_s + self._timeout_s - time.monotonic()


def event_timeout(connect_s: float) -> httpx.Timeout:
    return httpx.Timeout(connect_s, read=EVENT_SILENCE_S)
