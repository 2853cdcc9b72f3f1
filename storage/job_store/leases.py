"""What workers do with items: claim one under a lease, keep it, and hand in what became of it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.states import JobClass
from storage.database.functions import Reply, Value
from storage.ids import JobId, TenantId, WorkQueue
from storage.job_store.calls import (
    JobCalls,
    Transitioned,
    lease_arguments,
    milliseconds,
    record_of,
    tickets_of,
    tickets_or_lost,
)
from storage.jobs.record import ArtifactRecord, JobError, SpokenBy
from storage.jobs.record_codec import decode_spec, decode_warnings, encode_artifacts, encode_spoken_by, warning_rows
from storage.jobs.tickets import Tickets
from storage.jobs.warnings import ASSEMBLY_CODES
from storage.jobs.whole import WHOLE_ITEM
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
class ItemClaim:
    item: ClaimedItem | None
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class Look:
    """One look of a worker for items. room: how many it can take, at least one. is_woken: whether a ticket sent it.

    is_last: whether it stops polling if this finds nothing; else it polls again soon, unless it has no room left.
    """

    queue: WorkQueue
    room: int
    is_woken: bool
    is_last: bool


@dataclass(frozen=True, slots=True)
class Claims:
    items: tuple[ClaimedItem, ...]
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class WholeResult:
    """What became of a whole job: its segment and its files, which all lie in the store. warnings: of the files."""

    report: SegmentReport
    artifacts: tuple[ArtifactRecord, ...]
    warnings: tuple[TextWarning, ...]
    spoken_by: SpokenBy

    @property
    def stored_bytes(self) -> int:
        return self.report.stored_bytes + sum(each.bytes for each in self.artifacts)


class WorkLedger(JobCalls):
    """The part of the job store that workers speak with."""

    def claim(self, queue: WorkQueue, worker: WorkerIdentity, lease_s: float) -> ItemClaim:
        """The next item of the queue by class, tenant and job, under a lease; None when nothing is ready."""
        reply = self._functions.call(
            "claim",
            queue=queue,
            worker=worker.name,
            boot_id=worker.boot_id,
            lease_ms=milliseconds(lease_s),
            call=uuid4().hex,
        )
        return ItemClaim(None if reply.status == "empty" else _item(reply), tickets_of(reply))

    def claim_several(self, look: Look, worker: WorkerIdentity, lease_s: float) -> Claims:
        """The next items of the queue in the order of `claim`, as many as there is room for.

        What becomes ready sends no ticket while the worker looks again by itself.
        """
        reply = self._functions.call(
            "claim_several",
            queue=look.queue,
            most=look.room,
            is_woken=look.is_woken,
            is_last=look.is_last,
            worker=worker.name,
            boot_id=worker.boot_id,
            lease_ms=milliseconds(lease_s),
            call=uuid4().hex,
        )
        return Claims(tuple(_item(each) for each in reply.parts("items")), tickets_of(reply))

    def look_away(self, queue: WorkQueue, worker: WorkerIdentity) -> Tickets:
        """The worker waits for a ticket: it has just come, or leaves what is ready to others."""
        return tickets_of(self._functions.call("look_away", queue=queue, worker=worker.name))

    def extend(self, leases: Sequence[Lease], lease_s: float) -> builtins.list[LeaseStatus]:
        """One status per lease. Work that is not `HELD` is dropped: its result would be refused."""
        if not leases:
            return []
        held = [lease_arguments(lease) for lease in leases]
        reply = self._functions.call("extend", lease_ms=milliseconds(lease_s), leases=held)
        return [LeaseStatus(verdict) for verdict in reply.texts("leases")]

    def commit_plan(self, lease: Lease, result: PlanResult) -> Tickets:
        """The plan lies in the store: open the window. Raises `LeaseLost` or `JobAborted`."""
        if lease.item != PLAN_ITEM:
            raise ValueError(f"{lease.item!r} is not the plan")
        if result.num_segments < 1:
            raise ValueError("a plan has at least one segment")
        reply = self._settle(
            "commit_plan",
            **lease_arguments(lease),
            plan_key=result.plan_key,
            segments=result.num_segments,
            estimated_audio_ms=result.estimated_audio_ms,
            window=self._window,
            input_chars=result.input_chars,
            warnings=warning_rows(result.warnings),
            first_words=result.first_words,
        )
        return tickets_or_lost(lease, reply)

    def commit_segment(self, lease: Lease, report: SegmentReport) -> Tickets:
        """The segment lies in the store under its fence: count it. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a segment")
        if report.sample_rate_hz <= 0:
            raise ValueError(f"sample rate {report.sample_rate_hz} Hz")
        return tickets_or_lost(lease, self._settle("commit_segment", **self._segment_arguments(lease, report)))

    def finish_whole(self, lease: Lease, made: WholeResult) -> tuple[bool, Tickets]:
        """The segment of a whole job lies in the store, and every artifact: whether the job has succeeded with them.

        False if it was changed meanwhile (paused, for one): then the segment is taken as by `commit_segment`, and the
        job has none of the artifacts. Raises `LeaseLost` or `JobAborted`.
        """
        if lease.item != WHOLE_ITEM:
            raise ValueError(f"{lease.item!r} is not a whole job's segment")
        if not made.artifacts:
            raise ValueError("a finished job has artifacts")
        reply = self._settle(
            "finish_whole",
            **self._segment_arguments(lease, made.report),
            artifacts=encode_artifacts(made.artifacts),
            spoken_by=encode_spoken_by(made.spoken_by),
            warnings=warning_rows(made.warnings),
        )
        tickets = tickets_or_lost(lease, reply)
        return reply.flag("is_finished"), tickets

    def _segment_arguments(self, lease: Lease, report: SegmentReport) -> dict[str, Value]:
        return {
            **lease_arguments(lease),
            "line": encode_report(report),
            "sample_rate_hz": report.sample_rate_hz,
            "finish_reason": report.finish_reason,
            "flags": ",".join(report.flags),
            "engine_ms": report.engine_ms,
            "window": self._window,
            "reuse_id": report.reuse_id,
            "warning": report.warning,
            "warning_code": report.warning_code,
        }

    def commit_voice(self, lease: Lease, build_ms: int) -> Tickets:
        """One voice of a `voice_cache` job is ready; the last one ends the job. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a voice")
        reply = self._settle("commit_voice", **lease_arguments(lease), build_ms=build_ms, window=self._window)
        return tickets_or_lost(lease, reply)

    def commit_shard(self, lease: Lease) -> Tickets:
        """All jobs of a batch's shard are made. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a shard")
        return tickets_or_lost(lease, self._settle("commit_shard", **lease_arguments(lease), window=self._window))

    def isolate(self, lease: Lease) -> None:
        """Nothing runs beside the item from now on: what its worker dies of is the item's doing.

        Raises `LeaseLost` or `JobAborted`.
        """
        tickets_or_lost(lease, self._functions.call("isolate", **lease_arguments(lease)))

    def release(self, lease: Lease, reason: ReleaseReason) -> Tickets:
        """Put the item back in front, without a result. A lease that is not held any more is left alone."""
        return tickets_of(
            self._settle("release", **lease_arguments(lease), reason=reason, max_attempts=self._max_attempts)
        )

    def retry_later(self, lease: Lease, error: JobError, delay_s: float) -> Tickets:
        """The attempt failed for a reason that may pass; after the last one the job fails with `error`.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, milliseconds(delay_s))

    def postpone(self, lease: Lease, delay_s: float, *, waits_for_voice_slot: bool = False) -> Tickets:
        """What the item needs is not there yet: it waits, and nothing counts as an attempt.

        waits_for_voice_slot: its voice finds no place to be prepared in; the first one that leaves lets it in at once.
        Raises `LeaseLost` or `JobAborted`.
        """
        reply = self._settle(
            "postpone",
            **lease_arguments(lease),
            delay_ms=milliseconds(delay_s),
            waits_for_voice_slot=waits_for_voice_slot,
        )
        return tickets_or_lost(lease, reply)

    def fail(self, lease: Lease, error: JobError) -> Tickets:
        """No further attempt can help: the job fails now, or goes on without this voice if it prepares many.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, None)

    def finish(
        self,
        lease: Lease,
        artifacts: Sequence[ArtifactRecord],
        warnings: Sequence[TextWarning] = (),
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
        reply = self._settle(
            "finish",
            **lease_arguments(lease),
            artifacts=encode_artifacts(tuple(artifacts)),
            warnings=warning_rows(warnings),
            spoken_by=encode_spoken_by(spoken_by),
            earlier_codes=ASSEMBLY_CODES,
        )
        tickets = tickets_or_lost(lease, reply)
        return Transitioned(record_of(reply), tickets)

    def mend(self, lease: Lease, damages: Sequence[TextWarning], most_times: int) -> Tickets | None:
        """These segments are not in the store as they were committed: they are open again, and the assembly waits.

        damages: one for each segment. None if this run of the job was mended so many times already: the lease is held
        on, and the assembly can only fail. Raises `LeaseLost` or `JobAborted`.
        """
        if lease.item != ASSEMBLE_ITEM:
            raise ValueError(f"{lease.item!r} is not the assembly")
        reply = self._functions.call(
            "mend", **lease_arguments(lease), most_times=most_times, warnings=warning_rows(damages)
        )
        return None if reply.status == "exhausted" else tickets_or_lost(lease, reply)

    def finish_plan(self, lease: Lease, artifacts: Sequence[ArtifactRecord]) -> Tickets:
        """The plan lies in the store and was all that was wanted. Raises `LeaseLost` or `JobAborted`."""
        if lease.item != PLAN_ITEM:
            raise ValueError(f"{lease.item!r} is not the plan")
        reply = self._settle("finish_plan", **lease_arguments(lease), artifacts=encode_artifacts(tuple(artifacts)))
        return tickets_or_lost(lease, reply)

    def _fail(self, lease: Lease, error: JobError, delay_ms: int | None) -> Tickets:
        reply = self._settle(
            "fail",
            **lease_arguments(lease),
            code=error.code,
            detail=error.detail,
            delay_ms=delay_ms,
            max_attempts=self._max_attempts,
            rejected=error.rejected_attempts,
            rejection=encode_rejection(error.rejection) if error.rejection else "",
        )
        return tickets_or_lost(lease, reply)


def _item(reply: Reply) -> ClaimedItem:
    job, tenant = JobId(reply.text("job")), TenantId(reply.text("tenant"))
    deadline_ms = reply.text("deadline_ms")
    return ClaimedItem(
        lease=Lease(job, tenant, reply.text("item"), reply.number("fence")),
        attempt=reply.number("attempt"),
        suspicions=reply.number("suspicions"),
        spec=decode_spec(reply.text("spec")),
        input_key=reply.text("input_key"),
        plan_key=reply.text("plan_key") or None,
        deadline_ms=int(deadline_ms) if deadline_ms else None,
        edit=decode_edit(reply.text("edit")),
        take=reply.number("take"),
        job_class=JobClass(reply.text("class")),
        rejected_attempts=reply.number("rejected"),
        waited_ms=reply.number("waited_ms"),
        trace=reply.text("trace"),
        recovered=reply.flag("recovered"),
        plan_document=reply.text("plan"),
        warnings=decode_warnings(reply.text("warnings")) if reply.text("warnings") else (),
    )
