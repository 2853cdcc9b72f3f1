"""An event of a job, as stored in the job's log in Redis and as sent to followers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

FIRST_EVENT = "job.created"
"""Of every job; a log that begins with another one has lost its beginning."""

COUNTERS = ("segments_total", "segments_done", "chars_done", "audio_ms_done")

Entry = tuple[str, dict[str, str]]
"""Of a stream: its id and its fields."""

_EVENT_ID = re.compile(r"[0-9]{1,19}(-[0-9]{1,19})?")


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One entry of a job's event log. `id` is the Redis stream id; `data` is flat JSON."""

    id: str
    type: str
    at_ms: int
    data: dict[str, str | int | float | None] = field(hash=False)


def order_of(event_id: str) -> tuple[int, int]:
    milliseconds, _, number = event_id.partition("-")
    return int(milliseconds), int(number or 0)


def check_event_id(text: str) -> None:
    """Ids come back from browsers (Last-Event-ID), so they are checked before Redis sees them. Raises `ValueError`."""
    if not _EVENT_ID.fullmatch(text):
        raise ValueError(f"not an event id: {text!r}")


def events_of(entries: Iterable[Entry]) -> list[LoggedEvent]:
    return [_event_of(event_id, fields) for event_id, fields in entries]


def told_event(message: str) -> LoggedEvent:
    """Of what `event` in Lua publishes: the id, and the fields as a stream has them."""
    event_id, flat = json.loads(message)
    return _event_of(event_id, dict(zip(flat[::2], flat[1::2], strict=True)))


def _event_of(event_id: str, fields: dict[str, str]) -> LoggedEvent:
    data: dict[str, str | int | float | None] = {"state": fields["state"], "phase": fields["phase"] or None}
    data.update((name, int(fields[name])) for name in COUNTERS)
    if fields["more"]:
        data.update(json.loads(fields["more"]))
    return LoggedEvent(id=event_id, type=fields["type"], at_ms=int(fields["at_ms"]), data=data)
