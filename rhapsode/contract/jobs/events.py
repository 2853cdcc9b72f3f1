"""The events of a job's stream."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rhapsode.contract.base import Answer, Id
from rhapsode.contract.jobs.states import JobPhase, JobState


class EventProgress(Answer):
    fraction: float
    segments_total: int
    segments_done: int
    chars_done: int
    audio_s_done: float


class EventJob(Answer):
    """A job as far as an event tells of it."""

    id: Id
    state: JobState
    phase: JobPhase | None
    progress: EventProgress


class EventLinks(Answer):
    self_: str = Field(validation_alias="self", serialization_alias="self")


class EventData(Answer):
    """`detail` holds what only this type of event says.

    `changed`: what an edit changed: `text`, `pronunciation`, `voice`, `speaker`, `language`, `instructions`, joined by
    commas; or `deleted`, `brought_back`, or `again` for another take. Events of earlier versions lack it.
    """

    job: EventJob
    detail: dict[str, str | int | float | None]
    links: EventLinks


class Event(Answer):
    type: str
    timestamp: datetime
    data: EventData
