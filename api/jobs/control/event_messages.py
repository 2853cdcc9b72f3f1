"""A job's events as messages of a stream (SSE)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from fastapi.sse import format_sse_event

from api.http.links import LinkBuilder
from api.http.times import moment
from api.jobs.answers.view import audio_s_done, fraction_done
from rhapsode.contract.jobs import events as schemas
from rhapsode.contract.jobs.states import JobState
from storage.ids import JobId
from storage.job_store.following.event import COUNTERS, LoggedEvent
from storage.jobs.record import JobRecord
from storage.jobs.states import stored_phase

PROGRESS = "job.progress"

SHARED = 1024
"""Messages that are remembered: who follows a job in this process is mostly at the same one."""

_COMMON = frozenset({"state", "phase", *COUNTERS})


class ProgressPace:
    """Lets a progress event through when the counters have moved, and not more often than every `interval_s`."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._counters: tuple[object, ...] = ()
        self._sent_s = -interval_s

    def is_due(self, event: LoggedEvent, now_s: float) -> bool:
        counters = tuple(event.data[name] for name in COUNTERS)
        if counters == self._counters or now_s - self._sent_s < self._interval_s:
            return False
        self._counters, self._sent_s = counters, now_s
        return True


@dataclass(frozen=True, slots=True)
class EventMessages:
    """Of one job, for clients that reach the API as `links` says."""

    job_id: JobId
    links: LinkBuilder

    def summary(self, record: JobRecord, after: str) -> bytes:
        """In place of events that are not kept any more, under the id of the last one that the client had."""
        data: dict[str, str | int | float | None] = {
            "state": record.state,
            "phase": None if record.state.is_terminal else record.phase,
            "segments_total": record.segments.total,
            "segments_done": record.segments.done,
            "chars_done": record.chars_done,
            "audio_ms_done": round(audio_s_done(record) * 1000),
        }
        event_id = after if "-" in after else f"{after}-0"
        event = LoggedEvent(event_id, PROGRESS, round(time.time() * 1000), data)
        return _written(self, event, PROGRESS, {"events_lost": "yes"})


@lru_cache(maxsize=SHARED)
def event_message(about: EventMessages, event: LoggedEvent) -> bytes:
    detail = {name: value for name, value in event.data.items() if name not in _COMMON}
    return _written(about, event, event.type, detail)


@lru_cache(maxsize=SHARED)
def progress_message(about: EventMessages, event: LoggedEvent) -> bytes:
    """Under the id of the event whose counters it repeats: to continue after one is to continue after both."""
    return _written(about, event, PROGRESS, {})


def _written(about: EventMessages, event: LoggedEvent, kind: str, detail: dict[str, str | int | float | None]) -> bytes:
    shown = schemas.Event(
        type=kind,
        timestamp=moment(event.at_ms),
        data=schemas.EventData(
            job=_event_job(about.job_id, event),
            detail=detail,
            links=schemas.EventLinks(self_=about.links.job(about.job_id)),
        ),
    )
    return format_sse_event(data_str=shown.model_dump_json(by_alias=True), event=kind, id=event.id)


def _event_job(job_id: JobId, event: LoggedEvent) -> schemas.EventJob:
    state = JobState(str(event.data["state"]))
    phase = event.data["phase"]
    total, done, chars_done, audio_ms_done = (int(event.data[name] or 0) for name in COUNTERS)
    return schemas.EventJob(
        id=job_id,
        state=state,
        phase=stored_phase(str(phase)) if phase and not state.is_terminal else None,
        progress=schemas.EventProgress(
            fraction=fraction_done(state, done, total),
            segments_total=total,
            segments_done=done,
            chars_done=chars_done,
            audio_s_done=audio_ms_done / 1000,
        ),
    )
