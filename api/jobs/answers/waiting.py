"""`Prefer: wait=N`: hold an answer until the job has ended, without holding a thread."""

from __future__ import annotations

import re
import time

from api.http.caller_presence import PresentCaller
from api.services.container import ApiServices
from api.services.jobs_together import JobNow
from storage.ids import JobId, TenantId
from storage.job_store.following.feeds import Follower
from storage.jobs.record import JobRecord
from storage.jobs.states import MOVES

MAX_WAIT_S = 60
WAIT_DESCRIPTION = f"wait=N holds the answer up to N seconds ({MAX_WAIT_S})"

SILENCE_S = 45.0
"""After this time without an event, read the job's record, so that no caller misses its end."""

LAST_EVENTS = frozenset(f"job.{state}" for state in MOVES if state.is_terminal)

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?(?=$|[,;\s])", re.IGNORECASE)


def requested_wait_s(prefer: str | None) -> int | None:
    """Seconds to wait, at most 60. A preference we do not understand is no error (RFC 7240)."""
    match = _WAIT.search(prefer or "")
    return min(int(match.group(1)), MAX_WAIT_S) if match else None


async def wait_until_ended(services: ApiServices, record: JobRecord, wait_s: float) -> JobRecord:
    """The job after its end, after the time, or at the stop of the server."""
    with services.jobs.events.following(record.id) as follower:
        seen = await followed_to_its_end(services, follower, record.tenant, record.id, wait_s)
    if seen is None:
        raise RuntimeError("a wait without a caller returned no job")
    return seen.record


async def followed_to_its_end(
    services: ApiServices,
    follower: Follower,
    tenant: TenantId,
    job_id: JobId,
    wait_s: float,
    caller: PresentCaller | None = None,
) -> JobNow | None:
    """Like `wait_until_ended`; None after the caller leaves."""
    deadline_s, is_silent = time.monotonic() + wait_s, False
    while (
        (left_s := deadline_s - time.monotonic()) > 0 and not services.jobs.events.is_stopping and not _has_gone(caller)
    ):
        if is_silent or await _is_told_to_have_ended(follower):
            seen = await services.jobs.together.now(tenant, job_id)
            # The job may have been reopened.
            if seen.record.state.is_terminal:
                return seen
        is_silent = not await follower.wait(min(left_s, SILENCE_S))
    return None if _has_gone(caller) else await services.jobs.together.now(tenant, job_id)


def _has_gone(caller: PresentCaller | None) -> bool:
    return caller is not None and caller.has_gone


async def _is_told_to_have_ended(follower: Follower) -> bool:
    newest = await follower.newest()
    return newest is not None and newest.type in LAST_EVENTS
