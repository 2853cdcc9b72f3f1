"""How long a job has to wait: its place among the others of its model, and the measured pace of the workers.

The pace is what the workers of a queue have spoken by the time it took them, over the last minute or so in which
there was work. Everything here is an estimate that nothing else rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rhapsode.contract.jobs.states import JobClass, JobState
from storage.database.functions import Arguments, FunctionCalls, Reply
from storage.ids import TenantId, WorkQueue
from storage.jobs.record import JobRecord

INTERACTIVE_SHARE = 0.8
"""Of the claims, while both classes have work: four of five, as `claims.lua` gives them out."""


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """position: jobs that are served before it where it waits, 0 for one that is at work. slots: of living workers.

    pace: seconds of audio that the workers of its model speak in a second; 0 while nothing was measured. share: of it
    that this job can expect. backlog_audio_s: expected audio of all work for its model, this job's included.
    ahead_audio_s: of its class, what came before this waiting job and has not gone out; 0 once it runs.
    """

    position: int
    pace: float
    share: float
    slots: int
    backlog_audio_s: float
    ahead_audio_s: float = 0.0

    def seconds_for(self, audio_s: float) -> float | None:
        """Until so much of the job's audio is spoken; None if that cannot be known.

        Tenants that share the workers take turns. The job gets its share of the pace while the others have work. It
        never waits for more than the whole backlog.
        """
        if self.pace <= 0 or self.slots == 0:
            return None
        return min(audio_s / (self.pace * self.share), max(audio_s, self.backlog_audio_s) / self.pace)


class QueuePositions(FunctionCalls):
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def of_job(self, job: JobRecord) -> QueuePosition:
        """Raises `StoreUnavailable`."""
        return self._read(job.queue, job.job_class, job.tenant, job.id)

    def of_jobs(self, jobs: Sequence[JobRecord]) -> list[QueuePosition]:
        """In one round trip. Raises `StoreUnavailable`."""
        asked = [place_question(job.queue, job.job_class, job.tenant, job.id) for job in jobs]
        replies = self._functions.call_each(asked)
        return [place_of(reply, job.job_class) for reply, job in zip(replies, jobs, strict=True)]

    def of_newcomer(self, queue: WorkQueue, of_class: JobClass, tenant: TenantId, audio_s: float) -> QueuePosition:
        """Of a job with so much audio, were it accepted now. Raises `StoreUnavailable`."""
        there = self._read(queue, of_class, tenant, "")
        backlog_s = there.backlog_audio_s + audio_s
        return QueuePosition(there.position, there.pace, there.share, there.slots, backlog_s)

    def _read(self, queue: WorkQueue, of_class: JobClass, tenant: TenantId, job: str) -> QueuePosition:
        function, arguments = place_question(queue, of_class, tenant, job)
        return place_of(self._functions.call(function, **arguments), of_class)


def place_question(queue: WorkQueue, of_class: JobClass, tenant: TenantId, job: str) -> tuple[str, Arguments]:
    """The call that asks where a job stands."""
    return "queue_position", {"queue": queue, "class": of_class, "tenant": tenant, "job": job}


def place_of(reply: Reply, of_class: JobClass) -> QueuePosition:
    """The answer to a `place_question`."""
    portion = INTERACTIVE_SHARE if of_class is JobClass.INTERACTIVE else 1 - INTERACTIVE_SHARE
    sharers = reply.number("tenants") * reply.number("jobs")
    return QueuePosition(
        position=reply.number("position"),
        pace=reply.real("pace"),
        share=(portion if reply.flag("has_other_class") else 1.0) / sharers,
        slots=reply.number("slots"),
        backlog_audio_s=max(0.0, reply.number("backlog_ms") / 1000),
        ahead_audio_s=reply.number("ahead_ms") / 1000,
    )


def left_audio_s(job: JobRecord) -> float:
    """Expected audio that the job still has to have spoken, by how long its segments have turned out so far."""
    expected_s = max(0, job.estimated_audio_ms - job.out_audio_ms) / 1000
    if job.state is JobState.PENDING and not job.segments.total:
        return expected_s
    if not job.segments.done or not job.sample_rate_hz or not job.out_audio_ms:
        return expected_s
    so_far = job.samples_done / job.sample_rate_hz / (job.out_audio_ms / 1000)
    return expected_s * so_far
