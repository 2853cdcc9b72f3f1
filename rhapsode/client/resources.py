"""A job and its events, with what a program asks of them."""

from __future__ import annotations

from datetime import datetime

import rhapsode.contract.jobs.answer as contract
from rhapsode.contract.base import Answer
from rhapsode.contract.jobs.answer import Artifact
from rhapsode.contract.jobs.events import EventJob
from rhapsode.contract.jobs.states import JobState
from rhapsode.errors import JobNotSucceeded

MOST_NAMED = 20
"""Artifacts that an error lists."""


class Job(contract.Job):
    """A narration from its acceptance to its artifacts, or (kind `voice_cache`) voices made ready for a model."""

    @property
    def title(self) -> str:
        """What its owner called it; empty for nothing."""
        return self.metadata.get("title", "")

    def artifact(self, name: str) -> Artifact:
        """Raises `KeyError` with the names there are."""
        for artifact in self.artifacts:
            if artifact.name == name:
                return artifact
        names = ", ".join(artifact.name for artifact in self.artifacts[:MOST_NAMED]) or "none yet"
        raise KeyError(f"job {self.id} has no artifact {name!r}; it has: {names}")

    def raise_unless_succeeded(self) -> Job:
        """The job itself if it succeeded; else raises `JobNotSucceeded`, also while it still works."""
        if self.state is not JobState.SUCCEEDED:
            raise JobNotSucceeded(self)
        return self


class PageOfJobs(Answer):
    data: tuple[Job, ...]
    next_cursor: str | None
    has_more: bool


class JobEvent(Answer):
    """One entry of a job's event log.

    id: what `events(after=...)` continues behind. detail: what only this type of event says.
    """

    id: str
    type: str
    at: datetime
    job: EventJob
    detail: dict[str, str | int | float | None]

    @property
    def is_last(self) -> bool:
        return self.type in _LAST_EVENTS


_LAST_EVENTS = frozenset(f"job.{state}" for state in JobState if state.is_terminal)
