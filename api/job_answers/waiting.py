"""`Prefer: wait=N`: hold an answer until the job has ended, without holding a thread."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from anyio.to_thread import run_sync
from starlette.types import Receive

from api.http.caller_presence import caller_watched
from api.services.container import ApiServices
from storage.job_store.following.feeds import Follower
from storage.jobs.record import JobRecord
from storage.jobs.states import MOVES

MAX_WAIT_S = 60
WAIT_DESCRIPTION = f"wait=N holds the answer up to N seconds ({MAX_WAIT_S})"

SILENCE_S = 60.0
"""After which a stream asks whether its job is still there, and where it is."""

LAST_EVENTS = frozenset(f"job.{state}" for state in MOVES if state.is_terminal)

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?(?=$|[,;\s])", re.IGNORECASE)


def requested_wait_s(prefer: str | None) -> int | None:
    """Seconds to wait, at most 60. A preference we do not understand is no error (RFC 7240)."""
    match = _WAIT.search(prefer or "")
    return min(int(match.group(1)), MAX_WAIT_S) if match else None


async def wait_until_ended(services: ApiServices, record: JobRecord, wait_s: float) -> JobRecord:
    """The job once it has ended, or as it is when the time is over or the server stops."""
    with services.events.following(record.id) as follower:
        return await _followed_to_its_end(services, follower, record, wait_s, lambda: False)


async def wait_for_caller(services: ApiServices, record: JobRecord, wait_s: float, receive: Receive) -> JobRecord:
    """As `wait_until_ended`, for a client that may go: then the job as it was. receive: of a request that was read."""
    with services.events.following(record.id) as follower, caller_watched(receive, follower.wake) as has_gone:
        return await _followed_to_its_end(services, follower, record, wait_s, has_gone)


async def _followed_to_its_end(
    services: ApiServices, follower: Follower, record: JobRecord, wait_s: float, has_gone: Callable[[], bool]
) -> JobRecord:
    deadline_s = time.monotonic() + wait_s
    while (left_s := deadline_s - time.monotonic()) > 0 and not services.events.is_stopping and not has_gone():
        newest = await follower.newest()
        if newest is not None and newest.type in LAST_EVENTS:
            seen = await run_sync(services.jobs.get, record.tenant, record.id)
            # It may have been reopened since.
            if seen.state.is_terminal:
                return seen
        await follower.wait(left_s)
    if has_gone():
        # Thousands may go together, and none of them reads what is answered.
        return record
    return await run_sync(services.jobs.get, record.tenant, record.id)
