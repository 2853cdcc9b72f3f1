"""The states of a job, and how urgent it is."""

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


_TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class JobPhase(enum.StrEnum):
    """What a running job is doing."""

    PLANNING = "planning"
    SYNTHESIZING = "synthesizing"
    ASSEMBLING = "assembling"


class Priority(enum.StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class JobClass(enum.StrEnum):
    """The two service classes of a lane; interactive work is offered four claims of five."""

    # Twin of `worker.engine.interface.Urgency`.
    INTERACTIVE = "interactive"
    BULK = "bulk"
