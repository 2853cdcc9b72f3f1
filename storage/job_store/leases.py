"""What workers do with items: claim one under a lease, keep it, and hand in what became of it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from rhapsode.contract.jobs.states import JobClass
from storage.ids import JobId, TenantId, WorkQueue
from storage.job_store.scripts import JobScripts, Transitioned, milliseconds, record_of, tickets_of, tickets_or_lost
from storage.jobs.record import ArtifactRecord, JobError, SpokenBy
from storage.jobs.record_codec import decode_spec, encode_artifacts, encode_spoken_by, encode_warnings
from storage.jobs.tickets import Tickets
from storage.jobs.warnings import ASSEMBLY_CODES, JobWarning
from storage.jobs.work_items import (
    ASSEMBLE_ITEM,
    PLAN_ITEM,
    ClaimedItem,
    Lease,
    LeaseStatus,
    PlanResult,
    ReleaseReason,
    WorkerIdentity,
)
from storage.segments.edits import decode_edit
from storage.segments.results import SegmentReport, encode_report
from storage.segments.tried import encode_rejection


@dataclass(frozen=True, slots=True)
class Claim:
    item: ClaimedItem | None
    tickets: Tickets


class WorkLedger(JobScripts):
    """The part of the job store that workers speak with."""

    def claim(self, queue: WorkQueue, worker: WorkerIdentity, lease_s: float) -> Claim:
        """The next item of the queue by class, tenant and job, under a lease; None when nothing is ready."""
        reply = self._run("claim", queue, worker.name, worker.boot_id, milliseconds(lease_s), uuid4().hex)
        if reply[0] == "empty":
            return Claim(None, tickets_of(reply))
        job, tenant, item, fence, attempt, suspicions, *work = (str(part) for part in reply[2:])
        spec, input_key, plan_key, deadline_ms, edit, take, rank, rejected, waited_ms, trace, recovered = work
        claimed = ClaimedItem(
            lease=Lease(JobId(job), TenantId(tenant), item, int(fence)),
            attempt=int(attempt),
            suspicions=int(suspicions),
            spec=decode_spec(spec),
            input_key=input_key,
            plan_key=plan_key or None,
            deadline_ms=int(deadline_ms) if deadline_ms else None,
            edit=decode_edit(edit),
            take=int(take),
            job_class=JobClass(rank),
            rejected_attempts=int(rejected),
            waited_ms=int(waited_ms or 0),
            trace=trace,
            recovered=recovered == "1",
        )
        return Claim(claimed, tickets_of(reply))

    def extend(self, leases: Sequence[Lease], lease_s: float) -> builtins.list[LeaseStatus]:
        """One status per lease. Work that is not `HELD` is dropped: nobody will take its result."""
        if not leases:
            return []
        names = [part for lease in leases for part in (lease.job, lease.item, lease.fence)]
        reply = self._run("extend", milliseconds(lease_s), *names)
        return [LeaseStatus(str(status)) for status in reply[2:]]

    def commit_plan(self, lease: Lease, result: PlanResult) -> Tickets:
        """The plan lies in the store: open the window. Raises `LeaseLost` or `JobAborted`."""
        if lease.item != PLAN_ITEM:
            raise ValueError(f"{lease.item!r} is not the plan")
        if result.num_segments < 1:
            raise ValueError("a plan has at least one segment")
        reply = self._run(
            "commit_plan",
            lease.job,
            lease.fence,
            result.plan_key,
            result.num_segments,
            result.estimated_audio_ms,
            self._window,
            "" if result.input_chars is None else result.input_chars,
            result.stored_bytes,
            encode_warnings(result.warnings),
            result.first_words,
        )
        return tickets_or_lost(lease, reply)

    def commit_segment(self, lease: Lease, report: SegmentReport) -> Tickets:
        """The segment lies in the store under its fence: count it. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a segment")
        if report.sample_rate_hz <= 0:
            raise ValueError(f"sample rate {report.sample_rate_hz} Hz")
        reply = self._run(
            "commit_segment",
            lease.job,
            lease.item,
            lease.fence,
            encode_report(report),
            report.sample_rate_hz,
            report.finish_reason,
            ",".join(report.flags),
            report.engine_ms,
            self._window,
            report.reuse_id,
            report.warning,
            report.stored_bytes,
            report.warning_code,
        )
        return tickets_or_lost(lease, reply)

    def commit_voice(self, lease: Lease, build_ms: int) -> Tickets:
        """One voice of a `voice_cache` job is ready; the last one ends the job. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a voice")
        return tickets_or_lost(
            lease, self._run("commit_voice", lease.job, lease.item, lease.fence, build_ms, self._window)
        )

    def commit_shard(self, lease: Lease) -> Tickets:
        """All jobs of a batch's shard are made. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a shard")
        return tickets_or_lost(lease, self._run("commit_shard", lease.job, lease.item, lease.fence, self._window))

    def isolate(self, lease: Lease) -> None:
        """Nothing runs beside the item from now on: what its worker dies of is the item's doing.

        Raises `LeaseLost` or `JobAborted`.
        """
        tickets_or_lost(lease, self._run("isolate", lease.job, lease.item, lease.fence))

    def release(self, lease: Lease, reason: ReleaseReason) -> Tickets:
        """Put the item back in front, without a result. A lease that is not held any more is left alone."""
        return tickets_of(self._run("release", lease.job, lease.item, lease.fence, reason, self._max_attempts))

    def retry_later(self, lease: Lease, error: JobError, delay_s: float) -> Tickets:
        """The attempt failed for a reason that may pass; after the last one the job fails with `error`.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, milliseconds(delay_s))

    def postpone(self, lease: Lease, delay_s: float) -> Tickets:
        """What the item needs is not there yet: it waits, and nothing counts as an attempt.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._postpone(lease, delay_s, "")

    def wait_for_voice_slot(self, lease: Lease, delay_s: float) -> Tickets:
        """The voice finds no place to be prepared in: as `postpone`, but the first one that leaves lets it in at once.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._postpone(lease, delay_s, "1")

    def fail(self, lease: Lease, error: JobError) -> Tickets:
        """No further attempt can help: the job fails now, or goes on without this voice if it prepares many.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, "")

    def finish(
        self,
        lease: Lease,
        artifacts: Sequence[ArtifactRecord],
        warnings: Sequence[JobWarning] = (),
        spoken_by: SpokenBy = SpokenBy(),  # noqa: B008 - frozen
    ) -> Transitioned:
        """All artifacts lie in the store: the job has succeeded. Raises `LeaseLost` or `JobAborted`.

        artifacts: among them those of earlier assemblies that stay. warnings: of this assembly, in
        place of those of an earlier one.
        """
        if lease.item != ASSEMBLE_ITEM:
            raise ValueError(f"{lease.item!r} is not the assembly")
        if not artifacts:
            raise ValueError("a finished job has artifacts")
        reply = self._run(
            "finish",
            lease.job,
            lease.fence,
            encode_artifacts(tuple(artifacts)),
            encode_warnings(tuple(warnings)),
            encode_spoken_by(spoken_by),
            *ASSEMBLY_CODES,
        )
        tickets = tickets_or_lost(lease, reply)
        return Transitioned(record_of(reply[2]), tickets)

    def mend(self, lease: Lease, damages: Sequence[JobWarning], most_times: int) -> Tickets | None:
        """These segments are not in the store as they were committed: they are open again, and the assembly waits.

        damages: one for each segment. None if this run of the job was mended so many times already: the lease is held
        on, and the assembly can only fail. Raises `LeaseLost` or `JobAborted`.
        """
        if lease.item != ASSEMBLE_ITEM:
            raise ValueError(f"{lease.item!r} is not the assembly")
        reply = self._run("mend", lease.job, lease.fence, most_times, encode_warnings(tuple(damages)))
        return None if reply[0] == "exhausted" else tickets_or_lost(lease, reply)

    def finish_plan(self, lease: Lease, artifacts: Sequence[ArtifactRecord]) -> Tickets:
        """The plan lies in the store and was all that was wanted. Raises `LeaseLost` or `JobAborted`."""
        if lease.item != PLAN_ITEM:
            raise ValueError(f"{lease.item!r} is not the plan")
        return tickets_or_lost(
            lease, self._run("finish_plan", lease.job, lease.fence, encode_artifacts(tuple(artifacts)))
        )

    def _postpone(self, lease: Lease, delay_s: float, waits_for_voice_slot: str) -> Tickets:
        reply = self._run("postpone", lease.job, lease.item, lease.fence, milliseconds(delay_s), waits_for_voice_slot)
        return tickets_or_lost(lease, reply)

    def _fail(self, lease: Lease, error: JobError, delay_ms: int | str) -> Tickets:
        reply = self._run(
            "fail",
            lease.job,
            lease.item,
            lease.fence,
            error.code,
            error.detail,
            delay_ms,
            self._max_attempts,
            error.rejected_attempts,
            encode_rejection(error.rejection) if error.rejection else "",
            error.rejected_bytes,
        )
        return tickets_or_lost(lease, reply)
