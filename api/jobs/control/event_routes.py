"""A job's events as a stream (SSE): everything since `Last-Event-ID`, then what happens, until the job has ended."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.dependencies import KnownJobId, Links, Services, Tenant
from api.http.caller_presence import PresentCaller
from api.http.middleware.held_requests import hold
from api.http.problems.problem import invalid_header
from api.jobs.answers.waiting import LAST_EVENTS, SILENCE_S
from api.jobs.control.event_messages import EventMessages, ProgressPace, event_message, progress_message
from api.services.container import ApiServices
from storage.errors import JobGone, JobNotFound, StoreUnavailable
from storage.job_store.following.event import LoggedEvent
from storage.job_store.following.feeds import Follower
from storage.jobs.record import JobRecord

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

PROGRESS_INTERVAL_S = 0.5

KEEP_ALIVE_S = 15.0
KEEP_ALIVE = b": ping\n\n"
"""A comment, which clients pass over; proxies see that the connection is in use."""

_EVENT_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
"""Both halves have 64 bits; nineteen digits always fit, and are enough for the next hundred million years."""

_STREAMED = {
    "text/event-stream": {
        "itemSchema": {
            "type": "object",
            "properties": {
                "data": {"type": "string"},
                "event": {"type": "string"},
                "id": {"type": "string"},
                "retry": {"type": "integer", "minimum": 0},
            },
        }
    }
}


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
    record = await run_sync(services.jobs.store.get, tenant, job_id)
    after = last_event_id or "0"
    return Following(record, after, await services.jobs.events.reads.begins_behind(record.id, after))


class EventStream(Response):
    """Server-sent events until the client leaves. The next is made when a slow client has read the one before."""

    media_type = "text/event-stream"

    def __init__(self, source: JobStream) -> None:
        # Nginx would buffer several messages.
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["Content-Length"]
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        hold(scope, self._source)


@router.get("/{job_id}/events", response_class=Response, responses={200: {"content": _STREAMED}})
async def follow_job(
    services: Services, links: Links, following: Annotated[Following, Depends(_following)]
) -> EventStream:
    """`data` is an Event; a comment is sent every 15 s of silence.

    The last 500 events of a job or a little more are kept. A stream that should begin before them begins with a
    `job.progress` that sums up what is missing (`detail.events_lost`). A job that was reopened after its end has a
    story with several ends; the stream ends with the last.
    """
    if not services.live.shares.has_room(following.record.tenant):
        raise services.live.shares.refusal()
    return EventStream(JobStream(services, EventMessages(following.record.id, links), following))


class JobStream:
    """What one client hears of a job."""

    def __init__(self, services: ApiServices, shown: EventMessages, following: Following) -> None:
        self._services = services
        self._shown = shown
        self._following = following
        self._progress = ProgressPace(PROGRESS_INTERVAL_S)
        self._has_ended = following.record.state.is_terminal

    async def go_on(self, receive: Receive, send: Send) -> None:
        async with aclosing(self._messages(PresentCaller(receive))) as messages:
            async for message in messages:
                await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _messages(self, caller: PresentCaller) -> AsyncGenerator[bytes]:
        record = self._following.record
        try:
            if self._following.has_lost:
                yield self._shown.summary(record, self._following.after)
            shares = self._services.live.shares
            with shares.held(record.tenant), self._services.jobs.events.following(record.id, caller) as follower:
                async for message in self._followed(follower, caller):
                    yield message
        except StoreUnavailable as error:
            # The status is long sent. The client connects again with the last id, and misses nothing.
            logger.warning("event stream broken off", extra={"job_id": record.id, "error": str(error)})

    async def _followed(self, follower: Follower, caller: PresentCaller) -> AsyncGenerator[bytes]:
        after, read_s = self._following.after, time.monotonic()
        while not (caller.has_gone or self._services.jobs.events.is_stopping):
            events = await follower.events(after)
            if events:
                read_s = time.monotonic()
            elif time.monotonic() - read_s >= SILENCE_S:
                events = await self._logged(after)
                # There may be another page.
                read_s = read_s if events else time.monotonic()
            if events:
                for event in events:
                    yield event_message(self._shown, event)
                if await self._is_progress(events[-1]):
                    yield progress_message(self._shown, events[-1])
                after = events[-1].id
            elif events is not None and self._has_ended:
                # The client has already had the last event.
                return
            elif not await follower.wait(KEEP_ALIVE_S):
                yield KEEP_ALIVE

    async def _logged(self, after: str) -> list[LoggedEvent]:
        """From the log itself, for the case that nothing tells of its events. A deleted job has no log."""
        feeds, job_id = self._services.jobs.events, self._following.record.id
        events = await feeds.reads.page(job_id, after)
        self._has_ended = self._has_ended or (not events and await feeds.reads.newest(job_id) is None)
        return events

    async def _is_progress(self, event: LoggedEvent) -> bool:
        if event.type in LAST_EVENTS:
            # Unless it was reopened meanwhile; then its log goes on.
            self._has_ended = await run_sync(_has_ended, self._services, self._following.record)
            return False
        return self._progress.is_due(event, time.monotonic())


def _has_ended(services: ApiServices, record: JobRecord) -> bool:
    try:
        return services.jobs.store.get(record.tenant, record.id).state.is_terminal
    except (JobGone, JobNotFound):
        return True
