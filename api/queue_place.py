"""A job's place among the others of its model, while it has not ended."""

from __future__ import annotations

from api import schemas
from api.services import ApiServices
from storage.jobs import JobRecord


def queue_place(services: ApiServices, record: JobRecord) -> schemas.Queue | None:
    """Two questions to Redis; None for a job that has ended. Raises `StoreUnavailable`."""
    if record.state.is_terminal:
        return None
    return schemas.Queue(
        job_class=record.job_class,
        ahead_audio_s=services.jobs.ahead_audio_ms(record) / 1000,
        has_worker=services.fleet.slots(record.queue) > 0,
    )
