"""A job's place among the others of its model, while it has not ended."""

from __future__ import annotations

from api.job_answers.progress import Waiting
from api.schemas import job as schemas
from api.services.container import ApiServices
from storage.job_store.queue_position import QueuePlace
from storage.jobs.record import JobRecord
from storage.jobs.states import JobState


def waiting_of(services: ApiServices, record: JobRecord, known: QueuePlace | None = None) -> Waiting | None:
    """One question to Redis, unless its place is known; None for a job that has ended. Raises `StoreUnavailable`."""
    if record.state.is_terminal:
        return None
    place = known or services.places.of_job(record)
    return Waiting(
        place,
        schemas.Queue(
            job_class=record.job_class,
            position=None if record.state is JobState.PAUSED or record.is_asleep else place.position,
            ahead_audio_s=place.ahead_audio_s,
            pace=round(place.pace, 3) or None,
            has_worker=place.slots > 0,
        ),
    )
