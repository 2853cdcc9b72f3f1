"""The states of a job and their moves. Pure.

`MOVES` is the one table of allowed state changes: the Lua scripts receive it, the tests walk it.
"""

from __future__ import annotations

import enum


class JobState(enum.StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_terminal(self) -> bool:
        """Nothing happens to the job by itself any more; its owner may reopen it."""
        return self in _TERMINAL


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


_TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class JobPhase(enum.StrEnum):
    """What a running job is doing."""

    PLANNING = "planning"
    SYNTHESIZING = "synthesizing"
    ASSEMBLING = "assembling"
