"""Start times and deadlines of jobs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from api.http.problems.problem import deadline_unreachable, invalid_field
from api.http.times import moment
from storage.job_store.queue_position import QueuePositions
from storage.jobs.record import queue_of
from storage.jobs.states import job_class
from storage.jobs.submissions import Submission

LATEST_DEADLINE = datetime(9999, 1, 1, tzinfo=UTC)
"""UTC cannot express a later time with every offset."""

FARTHEST_START = timedelta(days=90)
"""Equal to the longest retention of a result."""


def future_ms(deadline: datetime) -> int:
    """Unix milliseconds. Raises an `HttpProblem` for a deadline in the past or too far away."""
    if deadline.timestamp() <= time.time():
        raise invalid_field("/deadline", "in_the_past", "the deadline has passed")
    if deadline > LATEST_DEADLINE:
        raise invalid_field("/deadline", "out_of_range", f"must not be later than {LATEST_DEADLINE.isoformat()}")
    return int(deadline.timestamp() * 1000)


def start_ms(not_before: datetime) -> int:
    """Unix milliseconds. A time in the past is now. Raises an `HttpProblem` for a time too far away."""
    if not_before.timestamp() > time.time() + FARTHEST_START.total_seconds():
        detail = f"must not be more than {FARTHEST_START.days} days away"
        raise invalid_field("/not_before", "out_of_range", detail)
    return max(1, int(not_before.timestamp() * 1000))


def refuse_unreachable(positions: QueuePositions, submission: Submission) -> None:
    """Raises an `HttpProblem` if the measured pace is too slow for the deadline.

    Without a measured pace, or without a worker, the job is accepted.
    """
    if submission.deadline_ms is None:
        return
    audio_s, estimate_ms = submission.estimated_audio_ms / 1000, submission.estimated_audio_ms
    service_class = job_class(submission.priority, estimate_ms)
    queue = queue_of(submission.spec)
    needed_s = positions.of_newcomer(queue, service_class, submission.tenant, audio_s).seconds_for(audio_s)
    if needed_s is None:
        return
    # Assume that the workers will have as much work then as now.
    begins_ms = max(time.time() * 1000, submission.not_before_ms or 0)
    done_ms = round(begins_ms + needed_s * 1000)
    if done_ms > submission.deadline_ms:
        raise deadline_unreachable(moment(submission.deadline_ms), moment(done_ms))
