"""`Prefer: wait=N`: hold an answer until the job has ended, without holding a thread."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable

from anyio.to_thread import run_sync

from api.services.container import ApiServices
from storage.jobs.record import JobRecord
from storage.jobs.states import MOVES

MAX_WAIT_S = 60
WAIT_DESCRIPTION = f"wait=N holds the answer up to N seconds ({MAX_WAIT_S})"

BLOCK_S = 4.0
"""How long one read of the event stream blocks: below Redis' socket time-out, and how late a client's going is seen."""

LAST_EVENTS = frozenset(f"job.{state}" for state in MOVES if state.is_terminal)

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?(?=$|[,;\s])", re.IGNORECASE)


def requested_wait_s(prefer: str | None) -> int | None:
    """Seconds to wait, at most 60. A preference we do not understand is no error (RFC 7240)."""
    match = _WAIT.search(prefer or "")
    return min(int(match.group(1)), MAX_WAIT_S) if match else None


async def wait_until_ended(
    services: ApiServices, record: JobRecord, wait_s: float, is_abandoned: Callable[[], Awaitable[bool]]
) -> JobRecord:
    """The job once it has ended, or as it is when the time is over, the client has gone or the server stops."""
    deadline = time.monotonic() + wait_s
    # From the log's beginning: an end between the caller's read and ours must not be missed.
    after = "0"
    while (left_s := deadline - time.monotonic()) > 0 and not services.events.is_stopping and not await is_abandoned():
        events = await services.events.follow(record.id, after, min(BLOCK_S, left_s))
        if any(event.type in LAST_EVENTS for event in events):
            seen = await run_sync(services.jobs.get, record.tenant, record.id)
            # It may have ended before and have been reopened since.
            if seen.state.is_terminal:
                return seen
        after = events[-1].id if events else after
    return await run_sync(services.jobs.get, record.tenant, record.id)
