"""How long a job will take: at the measured pace of the workers of its model, or at its own. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rhapsode.contract.jobs import answer as schemas
from rhapsode.contract.jobs.states import JobPhase, JobState
from storage.job_store.queue_position import QueuePosition, left_audio_s
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec


@dataclass(frozen=True, slots=True)
class JobWaiting:
    """The progress of an unfinished job."""

    place: QueuePosition
    queue: schemas.Queue


@dataclass(frozen=True, slots=True)
class TimeLeft:
    seconds: float
    basis: Literal["fleet_rate", "job_rate"]


def time_left(record: JobRecord, waiting: JobWaiting | None, now_s: float) -> TimeLeft | None:
    """The one ETA of a job, in lists as where it is read alone: until all is spoken; None if that cannot be known.

    How long the assembly takes is not measured.
    """
    is_under_way = record.state in (JobState.PENDING, JobState.RUNNING)
    if not is_under_way or record.phase is JobPhase.ASSEMBLING:
        return None
    is_spoken = isinstance(record.spec, NarrationSpec)
    seconds = waiting.place.seconds_for(left_audio_s(record)) if waiting and is_spoken else None
    if seconds is not None:
        return TimeLeft(round(_rest_s(record, now_s) + seconds, 1), "fleet_rate")
    return _at_own_pace(record, now_s)


def _rest_s(record: JobRecord, now_s: float) -> float:
    """Until the job may start."""
    return max(0.0, (record.not_before_ms or 0) / 1000 - now_s) if record.is_scheduled else 0.0


def _at_own_pace(record: JobRecord, now_s: float) -> TimeLeft | None:
    counts = record.segments
    done = counts.done - record.done_at_reopen
    if record.state is not JobState.RUNNING or record.started_at_ms is None or done <= 0:
        return None
    elapsed_s = max(0.0, now_s - record.started_at_ms / 1000)
    return TimeLeft(round(elapsed_s * (counts.total - counts.done) / done, 1), "job_rate")
