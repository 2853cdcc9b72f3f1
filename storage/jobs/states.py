"""The states of a job and their moves. Pure.

`MOVES` is the one table of allowed state changes: the Lua scripts receive it, the tests walk it.
"""

from __future__ import annotations

from rhapsode.contract.jobs.states import JobPhase, JobState

MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset(
        {JobState.RUNNING, JobState.PAUSED, JobState.CANCELLED, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.RUNNING: frozenset(
        {JobState.PAUSED, JobState.CANCELLING, JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED}
    ),
    JobState.PAUSED: frozenset(
        {JobState.PENDING, JobState.RUNNING, JobState.CANCELLED, JobState.CANCELLING, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset({JobState.PENDING}),
    JobState.FAILED: frozenset({JobState.PENDING}),
    JobState.CANCELLED: frozenset({JobState.PENDING}),
    JobState.EXPIRED: frozenset({JobState.PENDING}),
}

_DELIVERING = "delivering"
"""A phase of releases before, behind the assembly."""


def stored_phase(text: str) -> JobPhase:
    """Of a record or an event, which may be of a release before."""
    return JobPhase.ASSEMBLING if text == _DELIVERING else JobPhase(text)
