"""Every job and work item, in Redis: one method is one script, and the only way a job's state changes.

A call that ends in `StoreUnavailable` may have taken effect. Each is idempotent for its own arguments, so the
caller repeats it and is answered as if the first answer had arrived.
"""

from __future__ import annotations

import builtins
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast
from uuid import uuid4

import redis

from storage.availability import redis_errors_named
from storage.errors import (
    IdempotencyMismatch,
    JobAborted,
    JobGone,
    JobNotFound,
    LeaseLost,
    RecountOvertaken,
    StateConflict,
    refusal_of,
)
from storage.job_lists import JobPage, JobQuery
from storage.job_records import (
    decode_metadata,
    decode_record,
    decode_spec,
    encode_artifacts,
    encode_warnings,
    submitted_fields,
)
from storage.job_states import JobState
from storage.job_warnings import ASSEMBLY_CODES, JobWarning
from storage.jobs import ArtifactRecord, JobError, JobId, JobRecord, TenantId, queue_of
from storage.lua import SERVER_CLOCK, Argument, Reply, Script, load_script
from storage.redis_keys import RedisKeys
from storage.segment_edits import SegmentEdit, decode_edit
from storage.segment_results import SegmentReport, SegmentResult, decode_segment_result, encode_report
from storage.service_classes import JobClass, job_class
from storage.submissions import AdmissionLimits, IdempotencyKey, Submission
from storage.sweeps import ReapReport
from storage.tickets import Tickets
from storage.work_items import (
    ASSEMBLE_ITEM,
    PLAN_ITEM,
    ClaimedItem,
    Lease,
    LeaseStatus,
    PlanResult,
    ReleaseReason,
    WorkerIdentity,
)
from storage.work_queues import WorkQueue

IDEMPOTENCY_TTL_S = 24 * 3600
TOMBSTONE_TTL_S = 30 * 24 * 3600
LIST_CHUNK = 100
LIST_SCAN_LIMIT = 2_000
"""Records one `list` call looks at before it hands the cursor back."""

RECOUNT_BATCH = 40
"""Jobs of one step of a recount: about a millisecond of the server's time."""

_SCRIPTS = (
    *("submit", "cancel", "pause", "resume", "delete"),
    *("claim", "extend", "commit_plan", "commit_segment", "commit_voice", "commit_chunk", "finish", "finish_plan"),
    *("fail", "postpone", "release", "isolate"),
    *("release_worker", "reap", "retentions", "recount", "settle_stored"),
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """`replayed`: the idempotency key had been used, and `job` is the job of that first request."""

    job: JobRecord
    replayed: bool
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class Claim:
    item: ClaimedItem | None
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class Transitioned:
    job: JobRecord
    tickets: Tickets


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    expected: int
    actual: int


@dataclass(frozen=True, slots=True)
class Drift:
    """Counters that do not equal a recount. Empty unless there is a bug or somebody edited Redis."""

    differences: tuple[Difference, ...]


class JobStore:
    """Safe to share between threads, as the client is.

    limits: None for a caller that brings back what was accepted before.
    window: the fewest segments of a job that are open at a time; more are while the workers of its model have slots
        for them. clock: Lua source that defines `clock()`; tests put a settable one here.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        limits: AdmissionLimits | None = AdmissionLimits(),  # noqa: B008 - frozen
        max_attempts: int = 4,
        window: int = 32,
        clock: str = SERVER_CLOCK,
    ) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._limits = limits
        self._max_attempts = max_attempts
        self._window = window
        self._scripts: dict[str, Script] = {name: load_script(redis, self._keys, name, clock) for name in _SCRIPTS}

    def submit(self, submission: Submission) -> Submitted:
        """Accept the job, whole or not at all.

        Raises `IdempotencyMismatch`, `QuotaExceeded` (the tenant's limit) or `BacklogFull` (the system's), checked
        in this order after a replay; `JobGone` if the replayed job was deleted, `JobAborted` if the job's batch has
        ended.
        """
        key = submission.idempotency
        estimate = submission.estimated_audio_ms
        reply = self._run(
            "submit",
            submission.id,
            submission.tenant,
            _key_sha256(key) if key else "",
            key.fingerprint if key else "",
            estimate,
            job_class(submission.priority, estimate),
            submission.deadline_ms or "",
            self._limits.packed if self._limits else "",
            IDEMPOTENCY_TTL_S,
            queue_of(submission.spec),
            *submitted_fields(submission),
        )
        match reply[0]:
            case "mismatch":
                raise IdempotencyMismatch
            case "aborted":
                raise JobAborted(f"{submission.batch} ended before all of its jobs were made")
            case "refused":
                raise refusal_of(reply[2:])
            case _:
                if not reply[3]:
                    raise JobGone(f"{reply[2]} answered this idempotency key and was deleted since")
                return Submitted(_record(reply[3]), replayed=reply[0] == "replayed", tickets=_tickets(reply))

    def find_replay(self, tenant: TenantId, idempotency: IdempotencyKey) -> JobId | None:
        """The job this key was used for, if any; `submit` decides, this only saves storing the text in vain."""
        with redis_errors_named():
            known = cast("str | None", self._redis.get(self._keys.idempotency(tenant, _key_sha256(idempotency))))
        if known is None:
            return None
        job, _, fingerprint = known.partition("|")
        if fingerprint != idempotency.fingerprint:
            raise IdempotencyMismatch
        return JobId(job)

    def get(self, tenant: TenantId, job_id: JobId) -> JobRecord:
        """Raises `JobNotFound` (also for another tenant's job) or `JobGone`."""
        with redis_errors_named():
            fields = cast("dict[str, str]", self._redis.hgetall(self._keys.job(job_id)))
        if fields.get("tenant") != tenant:
            self._raise_missing(tenant, job_id)
        return decode_record(fields)

    def claim(self, queue: WorkQueue, worker: WorkerIdentity, lease_s: float) -> Claim:
        """The next item of the queue by class, tenant and job, under a lease; None when nothing is ready."""
        reply = self._run("claim", queue, worker.name, worker.incarnation, _milliseconds(lease_s), uuid4().hex)
        if reply[0] == "empty":
            return Claim(None, _tickets(reply))
        job, tenant, item, fence, attempt, suspicions, *work = (str(part) for part in reply[2:])
        spec, input_key, plan_key, deadline_ms, edit, take, rank, in_vain, waited_ms, trace, recovered = work
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
            spoken_in_vain=int(in_vain),
            waited_ms=int(waited_ms or 0),
            trace=trace,
            recovered=recovered == "1",
        )
        return Claim(claimed, _tickets(reply))

    def extend(self, leases: Sequence[Lease], lease_s: float) -> builtins.list[LeaseStatus]:
        """One status per lease. Work that is not `HELD` is dropped: nobody will take its result."""
        if not leases:
            return []
        names = [part for lease in leases for part in (lease.job, lease.item, lease.fence)]
        reply = self._run("extend", _milliseconds(lease_s), *names)
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
        )
        return _held(lease, reply)

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
        )
        return _held(lease, reply)

    def commit_voice(self, lease: Lease, build_ms: int) -> Tickets:
        """One voice of a `voice_cache` job is ready; the last one ends the job. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a voice")
        return _held(lease, self._run("commit_voice", lease.job, lease.item, lease.fence, build_ms, self._window))

    def commit_chunk(self, lease: Lease) -> Tickets:
        """All jobs of a batch's chunk are made. Raises `LeaseLost` or `JobAborted`."""
        if not lease.item.isdecimal():
            raise ValueError(f"{lease.item!r} is not a chunk")
        return _held(lease, self._run("commit_chunk", lease.job, lease.item, lease.fence, self._window))

    def isolate(self, lease: Lease) -> None:
        """Nothing runs beside the item from now on: what its worker dies of is the item's doing.

        Raises `LeaseLost` or `JobAborted`.
        """
        _held(lease, self._run("isolate", lease.job, lease.item, lease.fence))

    def release(self, lease: Lease, reason: ReleaseReason) -> Tickets:
        """Put the item back in front, without a result. A lease that is not held any more is left alone."""
        return _tickets(self._run("release", lease.job, lease.item, lease.fence, reason, self._max_attempts))

    def retry_later(self, lease: Lease, error: JobError, delay_s: float) -> Tickets:
        """The attempt failed for a reason that may pass; after the last one the job fails with `error`.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, _milliseconds(delay_s))

    def postpone(self, lease: Lease, delay_s: float) -> Tickets:
        """What the item needs is not there yet: it waits, and nothing counts as an attempt.

        Raises `LeaseLost` or `JobAborted`.
        """
        return _held(lease, self._run("postpone", lease.job, lease.item, lease.fence, _milliseconds(delay_s)))

    def fail(self, lease: Lease, error: JobError) -> Tickets:
        """No further attempt can help: the job fails now, or goes on without this voice if it prepares many.

        Raises `LeaseLost` or `JobAborted`.
        """
        return self._fail(lease, error, "")

    def finish(
        self, lease: Lease, artifacts: Sequence[ArtifactRecord], warnings: Sequence[JobWarning] = ()
    ) -> Transitioned:
        """All artifacts lie in the store: the job has succeeded. Raises `LeaseLost` or `JobAborted`.

        warnings: of this assembly, in place of those of an earlier one.
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
            *ASSEMBLY_CODES,
        )
        tickets = _held(lease, reply)
        return Transitioned(_record(reply[2]), tickets)

    def finish_plan(self, lease: Lease, artifacts: Sequence[ArtifactRecord]) -> Tickets:
        """The plan lies in the store and was all that was wanted. Raises `LeaseLost` or `JobAborted`."""
        if lease.item != PLAN_ITEM:
            raise ValueError(f"{lease.item!r} is not the plan")
        return _held(lease, self._run("finish_plan", lease.job, lease.fence, encode_artifacts(tuple(artifacts))))

    def cancel(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        """`cancelled` at once, or `cancelling` until the last lease is gone. Raises `StateConflict` once ended."""
        return self._transition("cancel", tenant, job_id, "cancelled")

    def pause(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        """No item of the job is given out any more; what runs is finished and kept."""
        return self._transition("pause", tenant, job_id, "paused")

    def resume(self, tenant: TenantId, job_id: JobId) -> Transitioned:
        return self._transition("resume", tenant, job_id, "resumed")

    def delete(self, tenant: TenantId, job_id: JobId) -> None:
        """Forget a job that has ended; its id answers `JobGone` from then on. Repeating it is no error."""
        reply = self._run("delete", job_id, tenant, TOMBSTONE_TTL_S)
        self._check_transition(reply, tenant, job_id, "deleted")

    def segment_results(self, tenant: TenantId, job_id: JobId) -> builtins.list[SegmentResult]:
        """The finished segments in index order. Raises `JobNotFound` or `JobGone`."""
        with redis_errors_named():
            owner = cast("str | None", self._redis.hget(self._keys.job(job_id), "tenant"))
            if owner != tenant:
                self._raise_missing(tenant, job_id)
            values = cast("dict[str, str]", self._redis.hgetall(self._keys.results(job_id)))
        done = (
            decode_segment_result(item, value)
            for item, value in values.items()
            if item.isdecimal() and value.startswith("D")
        )
        return sorted(done, key=lambda result: result.index)

    def segment_edits(self, tenant: TenantId, job_id: JobId) -> dict[int, SegmentEdit]:
        """What was changed of segments over the plan, by index. Raises `JobNotFound` or `JobGone`."""
        with redis_errors_named():
            owner = cast("str | None", self._redis.hget(self._keys.job(job_id), "tenant"))
            if owner != tenant:
                self._raise_missing(tenant, job_id)
            values = cast("dict[str, str]", self._redis.hgetall(self._keys.edits(job_id)))
        return {int(item): decode_edit(text) for item, text in values.items() if item.isdecimal()}

    def release_worker(self, worker: WorkerIdentity) -> Tickets:
        """Every lease that another incarnation of this worker holds goes back at once."""
        return _tickets(self._run("release_worker", worker.name, worker.incarnation, self._max_attempts))

    def reap(self, limit: int = 200) -> ReapReport:
        """Expired leases go back, due retries become ready, overdue jobs end: at most `limit` of each."""
        reply = self._run("reap", limit, self._max_attempts)
        leases, retries, jobs = (int(str(count)) for count in reply[2:5])
        return ReapReport(leases, retries, jobs, _tickets(reply))

    def expired_retentions(self, limit: int = 100) -> builtins.list[tuple[TenantId, JobId]]:
        """Ended jobs whose retention is over, oldest first; their objects go first, then `delete`."""
        reply = self._run("retentions", limit)
        pairs = (str(entry).rpartition("|") for entry in reply[2:])
        return [(TenantId(tenant), JobId(job)) for tenant, _, job in pairs]

    def settle_stored(self, tenant: TenantId, job_id: JobId, num_bytes: int) -> int:
        """Put the bytes of an ended job right that its objects really take; returns by how many they were wrong.

        Without effect on a job that is at work, or that there is not.
        """
        reply = self._run("settle_stored", job_id, tenant, num_bytes)
        return int(str(reply[2])) if reply[0] == "ok" else 0

    def pace(self, queue: WorkQueue) -> float | None:
        """Seconds of audio that the queue's workers speak in a second, as last measured; None before the first."""
        with redis_errors_named():
            fields = [f"{queue}:audio_ms", f"{queue}:busy_ms"]
            audio_ms, busy_ms = cast("list[str | None]", self._redis.hmget(self._keys.single("drain"), fields))
        return float(audio_ms) / max(1.0, float(busy_ms)) if audio_ms and busy_ms else None

    def ready_counts(self) -> Counter[WorkQueue]:
        """Items that may be claimed now, by queue; as many tickets should be on their way."""
        with redis_errors_named():
            counts = cast("dict[str, str]", self._redis.hgetall(self._keys.single("counters")))
        return Counter({WorkQueue(queue): int(count) for queue, count in counts.items()})

    def recount(self) -> Drift:
        """Compare every counter with a count from the jobs themselves; repairs nothing.

        Raises `RecountOvertaken` if another recount began meanwhile.
        """
        return Drift(tuple(difference for found in self.recount_steps(RECOUNT_BATCH) for difference in found))

    def mend_counters(self) -> Drift:
        """As `recount`, and every counter gets what was counted, in the same call; returns what differed before."""
        return Drift(tuple(each for found in self._recounted(RECOUNT_BATCH, "1") for each in found))

    def recount_steps(self, batch: int) -> Iterator[builtins.list[Difference]]:
        """A recount as its steps, of about `batch` jobs each; gives what each has found.

        Others work on in between, and the result is exact nevertheless: what has been counted is followed.
        """
        return self._recounted(batch, "")

    def _recounted(self, batch: int, mends: str) -> Iterator[builtins.list[Difference]]:
        epoch, cursor = uuid4().hex, ""
        while cursor != "0":
            reply = self._run("recount", epoch, cursor, batch, mends)
            if reply[0] == "overtaken":
                raise RecountOvertaken
            cursor, *rows = (str(part) for part in reply[2:])
            yield [
                Difference(name, int(expected), int(actual))
                for name, expected, actual in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
            ]

    def list(self, tenant: TenantId, query: JobQuery) -> JobPage:
        """One page of the tenant's jobs by id, which is by age.

        Looks at `LIST_SCAN_LIMIT` records at most: a page that the filters left short may still have successors,
        and goes on after `scanned_to`.
        """
        found: list[JobId] = []
        cursor = query.after
        for _ in range(LIST_SCAN_LIMIT // LIST_CHUNK):
            ids = self._ids_after(tenant, cursor, query)
            for job_id, is_match in zip(ids, self._match(ids, query), strict=True):
                if is_match and len(found) == query.limit:
                    return JobPage(self._records(found), has_more=True, scanned_to=cursor)
                if is_match:
                    found.append(job_id)
                cursor = job_id
            if len(ids) < LIST_CHUNK:
                return JobPage(self._records(found), has_more=False, scanned_to=cursor)
        return JobPage(self._records(found), has_more=True, scanned_to=cursor)

    def list_batches(self, tenant: TenantId, after: JobId | None, limit: int) -> JobPage:
        """The tenant's batches, newest first."""
        bound = f"({after}" if after else "+"
        with redis_errors_named():
            ids = self._redis.zrevrangebylex(self._keys.batches(tenant), bound, "-", start=0, num=limit + 1)
        wanted = cast("builtins.list[JobId]", ids)
        has_more = len(wanted) > limit
        return JobPage(self._records(wanted[:limit]), has_more, wanted[limit - 1] if has_more else None)

    def get_many(self, tenant: TenantId, job_ids: Sequence[JobId]) -> builtins.list[JobRecord | None]:
        """One record, or None, for each id."""
        with redis_errors_named():
            pipeline = self._redis.pipeline(transaction=False)
            for job_id in job_ids:
                pipeline.hgetall(self._keys.job(job_id))
            rows = cast("builtins.list[dict[str, str]]", pipeline.execute())
        return [decode_record(row) if row.get("tenant") == tenant else None for row in rows]

    def _ids_after(self, tenant: TenantId, cursor: JobId | None, query: JobQuery) -> builtins.list[JobId]:
        key = self._keys.jobs(tenant) if query.batch is None else self._keys.children(query.batch)
        with redis_errors_named():
            if query.newest_first:
                bound = f"({cursor}" if cursor else "+"
                ids = self._redis.zrevrangebylex(key, bound, "-", start=0, num=LIST_CHUNK)
            else:
                bound = f"({cursor}" if cursor else "-"
                ids = self._redis.zrangebylex(key, bound, "+", start=0, num=LIST_CHUNK)
        return cast("list[JobId]", ids)

    def _match(self, ids: Sequence[JobId], query: JobQuery) -> builtins.list[bool]:
        with redis_errors_named():
            pipeline = self._redis.pipeline(transaction=False)
            for job_id in ids:
                pipeline.hmget(self._keys.job(job_id), ["state", "created_at_ms", "metadata", "kind"])
            rows = cast("list[list[str | None]]", pipeline.execute())
        return [_matches(query, *row) for row in rows]

    def _records(self, ids: Sequence[JobId]) -> tuple[JobRecord, ...]:
        with redis_errors_named():
            pipeline = self._redis.pipeline(transaction=False)
            for job_id in ids:
                pipeline.hgetall(self._keys.job(job_id))
            rows = cast("list[dict[str, str]]", pipeline.execute())
        return tuple(decode_record(row) for row in rows if row)  # a job may have been deleted meanwhile

    def _transition(self, script: str, tenant: TenantId, job_id: JobId, action: str) -> Transitioned:
        reply = self._run(script, job_id, tenant)
        self._check_transition(reply, tenant, job_id, action)
        return transitioned(reply)

    def _check_transition(self, reply: Reply, tenant: TenantId, job_id: JobId, action: str) -> None:
        if reply[0] == "missing":
            self._raise_missing(tenant, job_id)
        if reply[0] == "conflict":
            raise StateConflict(str(reply[2]), action)

    def _raise_missing(self, tenant: TenantId, job_id: JobId) -> NoReturn:
        with redis_errors_named():
            buried = cast("str | None", self._redis.get(self._keys.tombstone(job_id)))
        if buried == tenant:
            raise JobGone(f"{job_id} was deleted")
        raise JobNotFound(f"there is no job {job_id}")

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
            error.spoken_in_vain,
        )
        return _held(lease, reply)

    def _run(self, script: str, *arguments: Argument) -> Reply:
        with redis_errors_named():
            return self._scripts[script].run(*arguments)


def transitioned(reply: Reply) -> Transitioned:
    """Of a script that answers with the record."""
    return Transitioned(_record(reply[2]), _tickets(reply))


def _matches(
    query: JobQuery, state: str | None, created_at_ms: str | None, metadata: str | None, kind: str | None
) -> bool:
    if state is None or created_at_ms is None or metadata is None:
        return False
    if query.kind is not None and (kind or "synthesis") != query.kind:
        return False
    if query.states and JobState(state) not in query.states:
        return False
    if query.created_after_ms is not None and int(created_at_ms) <= query.created_after_ms:
        return False
    if query.created_before_ms is not None and int(created_at_ms) >= query.created_before_ms:
        return False
    return query.metadata.items() <= decode_metadata(metadata).items()


def _held(lease: Lease, reply: Reply) -> Tickets:
    if reply[0] == "lost":
        raise LeaseLost(f"fence {lease.fence} of {lease.item} in {lease.job} is not current")
    if reply[0] == "aborted":
        raise JobAborted(f"{lease.job} ended before fence {lease.fence} of {lease.item} did")
    return _tickets(reply)


def _tickets(reply: Reply) -> Tickets:
    ready = cast("list[str | int]", reply[1])
    return Tickets({WorkQueue(str(queue)): int(count) for queue, count in zip(ready[::2], ready[1::2], strict=True)})


def _record(part: object) -> JobRecord:
    """`part` is what HGETALL gives inside a script: field, value, field, value, ..."""
    flat = cast("list[str]", part)
    return decode_record(dict(zip(flat[::2], flat[1::2], strict=True)))


def _key_sha256(idempotency: IdempotencyKey) -> str:
    return hashlib.sha256(idempotency.key.encode()).hexdigest()


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
