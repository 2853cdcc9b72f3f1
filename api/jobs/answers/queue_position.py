"""A job's place among the others of its model, while it has not ended."""

from __future__ import annotations

from collections.abc import Sequence

from api.jobs.answers.progress import JobWaiting
from api.services.container import ApiServices
from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.jobs.states import JobState
from storage.job_store.queue_position import QueuePosition
from storage.jobs.record import JobRecord


def waiting_of(services: ApiServices, record: JobRecord, known: QueuePosition | None = None) -> JobWaiting | None:
    """One question to Redis, unless its place is known; None for a job that has ended. Raises `StoreUnavailable`."""
    if record.state.is_terminal:
        return None
    return _waiting(record, known or services.intake.queue_positions.of_job(record))


def waiting_of_each(services: ApiServices, records: Sequence[JobRecord]) -> list[JobWaiting | None]:
    """As `waiting_of`, in one question to Redis for all."""
    waiting = [record for record in records if not record.state.is_terminal]
    places = iter(services.intake.queue_positions.of_jobs(waiting))
    return [None if record.state.is_terminal else _waiting(record, next(places)) for record in records]


def _waiting(record: JobRecord, place: QueuePosition) -> JobWaiting:
    return JobWaiting(
        place,
        schemas.Queue(
            job_class=record.job_class,
            position=None if record.state is JobState.PAUSED or record.is_scheduled else place.position,
            ahead_audio_s=place.ahead_audio_s,
            pace=round(place.pace, 3) or None,
            has_worker=place.slots > 0,
        ),
    )
