"""A job's events as a stream (SSE): everything since `Last-Event-ID`, then what happens, until the job has ended."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.dependencies import KnownJobId, Links, Services, Tenant
from api.http.links import LinkBuilder
from api.http.problems.problem import invalid_header
from api.http.times import moment
from api.job_answers.view import audio_s_done, fraction_done
from api.job_answers.waiting import BLOCK_S, LAST_EVENTS
from api.services.container import ApiServices
from rhapsode.contract.jobs import events as schemas
from rhapsode.contract.jobs.states import JobPhase, JobState
from storage.errors import JobGone, JobNotFound, StoreUnavailable
from storage.ids import JobId, TenantId
from storage.job_store.events import COUNTERS, JobEvent
from storage.jobs.record import JobRecord

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

PROGRESS_INTERVAL_S = 0.5

PROGRESS = "job.progress"

_EVENT_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
"""Both halves have 64 bits; nineteen digits always fit, and are enough for the next hundred million years."""

_COMMON = frozenset({"state", "phase", *COUNTERS})


@dataclass(frozen=True, slots=True)
class Following:
    """A stream that may begin: the job is this tenant's. has_lost: events behind `after` are not kept any more."""

    record: JobRecord
    after: str
    has_lost: bool


async def _following(
    tenant: Tenant,
    services: Services,
    job_id: KnownJobId,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Following:
    """Whatever can be refused is refused here, while there is still a status to refuse it with."""
    if last_event_id and not _EVENT_ID.fullmatch(last_event_id):
        raise invalid_header("Last-Event-ID", "invalid_event_id", "is not an id of this stream")
    record = await run_sync(services.jobs.get, tenant, job_id)
    after = last_event_id or "0"
    return Following(record, after, await services.events.begins_behind(record.id, after))


@router.get("/{job_id}/events", response_class=EventSourceResponse)
async def follow_job(
    services: Services, links: Links, following: Annotated[Following, Depends(_following)]
) -> AsyncIterator[ServerSentEvent]:
    """`data` is an Event; FastAPI adds a comment every 15 s of silence.

    The last 500 events of a job or a little more are kept. A stream that should begin before them begins with a
    `job.progress` that sums up what is missing (`detail.events_lost`). A job that was reopened after its end has a
    story with several ends; the stream ends with the last.
    """
    try:
        async with aclosing(_messages(services, EventView(following.record.id, links), following)) as messages:
            async for message in messages:
                yield message
    except StoreUnavailable as error:
        # The status is long sent. The client connects again with the last id, and misses nothing.
        logger.warning("event stream broken off", extra={"job_id": following.record.id, "error": str(error)})


async def _messages(services: ApiServices, view: EventView, following: Following) -> AsyncGenerator[ServerSentEvent]:
    """Raises `StoreUnavailable`."""
    progress = ProgressPace(PROGRESS_INTERVAL_S)
    after = following.after
    has_ended = following.record.state.is_terminal
    if following.has_lost:
        yield view.summary(following.record, after)
    while True:
        events = await services.events.follow(following.record.id, after, 0.001 if has_ended else BLOCK_S)
        for event in events:
            yield view.message(event)
        if events:
            after = events[-1].id
            if events[-1].type in LAST_EVENTS:
                # Unless it was reopened meanwhile; then its log goes on.
                has_ended = await run_sync(_has_ended, services, following.record.tenant, following.record.id)
            elif progress.is_due(events[-1], time.monotonic()):
                yield view.progress_message(events[-1])
        elif has_ended:
            # The client has already had the last event.
            return
        else:
            has_ended = await run_sync(_has_ended, services, following.record.tenant, following.record.id)


def _has_ended(services: ApiServices, tenant: TenantId, job_id: JobId) -> bool:
    """Asked in silence only: a deleted job's stream is gone and would stay silent for ever."""
    try:
        return services.jobs.get(tenant, job_id).state.is_terminal
    except (JobGone, JobNotFound):
        return True


class ProgressPace:
    """Lets a progress event through when the counters have moved, and not more often than every `interval_s`."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._counters: tuple[object, ...] = ()
        self._sent_s = -interval_s

    def is_due(self, event: JobEvent, now_s: float) -> bool:
        counters = tuple(event.data[name] for name in COUNTERS)
        if counters == self._counters or now_s - self._sent_s < self._interval_s:
            return False
        self._counters, self._sent_s = counters, now_s
        return True


@dataclass(frozen=True, slots=True)
class EventView:
    job_id: JobId
    links: LinkBuilder

    def message(self, event: JobEvent) -> ServerSentEvent:
        detail = {name: value for name, value in event.data.items() if name not in _COMMON}
        return self._message(event, event.type, detail)

    def progress_message(self, event: JobEvent) -> ServerSentEvent:
        """Under the id of the event whose counters it repeats: to continue after one is to continue after both."""
        return self._message(event, PROGRESS, {})

    def summary(self, record: JobRecord, after: str) -> ServerSentEvent:
        """In place of events that are not kept any more, under the id of the last one that the client had."""
        data: dict[str, str | int | float | None] = {
            "state": record.state,
            "phase": record.phase,
            "segments_total": record.segments.total,
            "segments_done": record.segments.done,
            "chars_done": record.chars_done,
            "audio_ms_done": round(audio_s_done(record) * 1000),
        }
        event_id = after if "-" in after else f"{after}-0"
        event = JobEvent(event_id, PROGRESS, round(time.time() * 1000), data)
        return self._message(event, PROGRESS, {"events_lost": "yes"})

    def _message(self, event: JobEvent, kind: str, detail: dict[str, str | int | float | None]) -> ServerSentEvent:
        shown = schemas.Event(
            type=kind,
            timestamp=moment(event.at_ms),
            data=schemas.EventData(
                job=_event_job(self.job_id, event),
                detail=detail,
                links=schemas.EventLinks(self_=self.links.job(self.job_id)),
            ),
        )
        return ServerSentEvent(raw_data=shown.model_dump_json(by_alias=True), event=kind, id=event.id)


def _event_job(job_id: JobId, event: JobEvent) -> schemas.EventJob:
    state = JobState(str(event.data["state"]))
    phase = event.data["phase"]
    total, done, chars_done, audio_ms_done = (int(event.data[name] or 0) for name in COUNTERS)
    return schemas.EventJob(
        id=job_id,
        state=state,
        phase=JobPhase(str(phase)) if phase else None,
        progress=schemas.EventProgress(
            fraction=fraction_done(state, done, total),
            segments_total=total,
            segments_done=done,
            chars_done=chars_done,
            audio_s_done=audio_ms_done / 1000,
        ),
    )
