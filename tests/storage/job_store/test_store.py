"""A job's life in the store, call by call."""

from __future__ import annotations

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rhapsode.contract.jobs.states import JobPhase, JobState
from storage.database.functions import Functions
from storage.database.redis_errors import StateRedis
from storage.errors import (
    AuditOvertaken,
    BacklogFull,
    IdempotencyMismatch,
    JobAborted,
    JobGone,
    JobNotFound,
    LeaseLost,
    QuotaExceeded,
    StateConflict,
    StoreUnavailable,
)
from storage.ids import JobId
from storage.job_store.lists import JobQuery
from storage.job_store.store import JobStore
from storage.jobs.record import JobError, SegmentCounts
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import QUARANTINE_SUSPICIONS, LeaseStatus, PlanResult, ReleaseReason, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from tests.storage.audio.decoded import all_keys
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    LEASE_S,
    SPEC,
    TEST_CLOCK,
    WORKER,
    Clock,
    artifact,
    claim,
    finish_segments,
    open_store,
    report,
    sha256_of,
    start_job,
    submission,
)
from tests.threads import BoundedExecutor

KEY = IdempotencyKey("order-7", "fingerprint-1")
TRANSIENT = JobError("storage_unavailable", "the store did not answer")


def test_a_job_goes_from_pending_to_succeeded(store: JobStore, clock: Clock) -> None:
    wanted = submission(metadata={"book": "42"})

    submitted = store.submit(wanted)

    assert submitted.tickets == Tickets({CPU_QUEUE: 1})
    assert not submitted.replayed
    assert submitted.job.state is JobState.PENDING
    assert submitted.job.metadata == {"book": "42"}

    plan = claim(store, CPU_QUEUE)

    assert (plan.lease.item, plan.attempt, plan.suspicions, plan.spec) == ("plan", 1, 0, SPEC)
    assert plan.input_key == wanted.input_key
    running = store.get(ALICE, wanted.id)
    assert (running.state, running.phase) == (JobState.RUNNING, JobPhase.PLANNING)
    assert running.started_at_ms == clock.now_ms

    assert store.commit_plan(plan.lease, PlanResult("plan-1", 3, 45_000)) == Tickets({GPU_QUEUE: 3})
    segments = [claim(store, GPU_QUEUE) for _ in range(3)]

    assert [s.lease.item for s in segments] == ["0", "1", "2"]
    assert segments[0].plan_key == "plan-1"
    assert store.get(ALICE, wanted.id).segments == SegmentCounts(total=3, done=0, running=3)

    tickets = [store.commit_segment(s.lease, report(s.lease.item)) for s in reversed(segments)]
    clock.advance(7)
    assembly = claim(store, CPU_QUEUE)
    done = store.finish(assembly.lease, [artifact()]).job

    assert tickets == [Tickets(), Tickets(), Tickets({CPU_QUEUE: 1})]
    assert assembly.lease.item == "assemble"
    assert done == store.get(ALICE, wanted.id)
    assert done.state is JobState.SUCCEEDED
    assert done.segments == SegmentCounts(total=3, done=3)
    assert (done.chars_done, done.samples_done, done.engine_ms) == (30, 72_000, 15)
    assert done.artifacts == (artifact(),)
    assert done.finished_at_ms == clock.now_ms
    assert done.expires_at_ms == clock.now_ms + 3_600_000
    results = store.segment_results(ALICE, wanted.id)
    assert [(r.index, r.fence, r.sha256) for r in results] == [
        (i, s.lease.fence, sha256_of(str(i))) for i, s in enumerate(segments)
    ]
    assert store.audit_counters() == ()


def test_another_tenants_job_is_not_found(store: JobStore) -> None:
    job = store.submit(submission(ALICE)).job

    for call in (store.get, store.cancel, store.pause, store.resume, store.delete, store.segment_results):
        with pytest.raises(JobNotFound):
            call(BOB, job.id)
    assert store.get(ALICE, job.id).state is JobState.PENDING


def test_the_same_key_answers_with_the_first_job(store: JobStore) -> None:
    first = store.submit(submission(idempotency=KEY))

    second = store.submit(submission(idempotency=KEY))

    assert second.replayed
    assert second.job == first.job
    assert store.ready_counts()[CPU_QUEUE] == 1
    assert store.find_response(ALICE, KEY) == first.job.id
    assert store.find_response(BOB, KEY) is None


def test_the_same_key_with_another_request_is_refused(store: JobStore) -> None:
    store.submit(submission(idempotency=KEY))
    other = IdempotencyKey(KEY.key, "fingerprint-2")

    with pytest.raises(IdempotencyMismatch):
        store.submit(submission(idempotency=other))
    with pytest.raises(IdempotencyMismatch):
        store.find_response(ALICE, other)


def test_keys_of_two_tenants_do_not_meet(store: JobStore) -> None:
    ours = store.submit(submission(ALICE, idempotency=KEY))

    theirs = store.submit(submission(BOB, idempotency=KEY))

    assert not theirs.replayed
    assert theirs.job.id != ours.job.id


def test_five_parallel_submits_with_one_key_make_one_job(store: JobStore) -> None:
    attempts = [submission(idempotency=KEY) for _ in range(5)]

    with BoundedExecutor(len(attempts)) as threads:
        answers = list(threads.map(store.submit, attempts))

    assert len({answer.job.id for answer in answers}) == 1
    assert sorted(answer.replayed for answer in answers) == [False, True, True, True, True]
    assert len(store.list(ALICE, JobQuery()).entries) == 1


def test_a_submission_sent_again_without_a_key_is_the_same_job(store: JobStore) -> None:
    wanted = submission()
    store.submit(wanted)

    again = store.submit(wanted)

    assert not again.replayed
    assert again.tickets == Tickets({CPU_QUEUE: 1})
    assert store.ready_counts()[CPU_QUEUE] == 1
    assert store.audit_counters() == ()


@pytest.mark.parametrize(
    ("limits", "refusal", "limit"),
    [
        (AdmissionLimits(tenant_jobs=1), QuotaExceeded, "tenant_jobs"),
        (AdmissionLimits(tenant_audio_ms=100_000), QuotaExceeded, "tenant_audio_ms"),
        (AdmissionLimits(total_jobs=1), BacklogFull, "total_jobs"),
        (AdmissionLimits(total_audio_ms=100_000), BacklogFull, "total_audio_ms"),
    ],
)
def test_a_refused_submission_leaves_nothing(
    redis_client: redis.Redis, clock: Clock, limits: AdmissionLimits, refusal: type[QuotaExceeded], limit: str
) -> None:
    store = open_store(redis_client, limits)
    store.submit(submission(audio_ms=60_000))
    before = all_keys(redis_client)
    refused = submission(audio_ms=60_000, idempotency=KEY)

    with pytest.raises(refusal) as caught:
        store.submit(refused)

    assert caught.value.limit == limit
    assert caught.value.retry_after_s is not None
    assert 1 <= caught.value.retry_after_s <= 300
    assert all_keys(redis_client) == before
    assert store.audit_counters() == ()


def test_a_replay_is_answered_even_at_the_limit(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, AdmissionLimits(tenant_jobs=1))
    store.submit(submission(idempotency=KEY))

    assert store.submit(submission(idempotency=KEY)).replayed


def test_an_ended_job_makes_room_for_another(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, AdmissionLimits(tenant_jobs=1))
    first = store.submit(submission()).job
    store.cancel(ALICE, first.id)

    assert store.submit(submission()).job.state is JobState.PENDING


def test_the_wait_follows_from_the_measured_throughput(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, AdmissionLimits(total_audio_ms=700_000))
    start_job(store, 60, submission(audio_ms=600_000))
    for _ in range(60):
        clock.advance(1)
        store.commit_segment(claim(store, GPU_QUEUE).lease, report(num_samples=240_000, engine_ms=1_000))
    clock.advance(3_600)

    with pytest.raises(BacklogFull) as caught:
        store.submit(submission(audio_ms=200_000))

    # 100 s of audio too many at 10 s of audio per second; the hour of rest tells nothing of the pace.
    assert caught.value.retry_after_s == pytest.approx(100 / 10, rel=0.05)


def test_a_repeated_commit_is_answered_alike_without_effect(store: JobStore) -> None:
    job = start_job(store, 40)
    segment = claim(store, GPU_QUEUE)
    store.commit_segment(segment.lease, report())
    after = store.get(ALICE, job.id)

    store.commit_segment(segment.lease, report())

    assert store.get(ALICE, job.id) == after
    assert store.audit_counters() == ()


def test_a_commit_with_the_same_fence_and_another_result_is_refused(store: JobStore) -> None:
    start_job(store, 2)
    segment = claim(store, GPU_QUEUE)
    store.commit_segment(segment.lease, report("one"))

    with pytest.raises(LeaseLost):
        store.commit_segment(segment.lease, report("two"))


def test_a_late_holder_cannot_commit_over_the_next_one(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 1)
    late = claim(store, GPU_QUEUE)
    clock.advance(LEASE_S + 1)
    assert store.reap().leases_expired == 1
    current = claim(store, GPU_QUEUE)

    with pytest.raises(LeaseLost):
        store.commit_segment(late.lease, report("late"))
    assert current.lease.fence > late.lease.fence
    store.commit_segment(current.lease, report("current"))
    with pytest.raises(LeaseLost):
        store.commit_segment(late.lease, report("late"))

    assert [r.fence for r in store.segment_results(ALICE, job.id)] == [current.lease.fence]


def test_repeated_plan_and_assembly_commits_have_one_effect(store: JobStore) -> None:
    job = store.submit(submission()).job
    plan = claim(store, CPU_QUEUE)
    result = PlanResult("plan-1", 1, 5_000)
    store.commit_plan(plan.lease, result)
    store.commit_plan(plan.lease, result)
    finish_segments(store, 1)
    store.commit_plan(plan.lease, result)
    assembly = claim(store, CPU_QUEUE)

    first = store.finish(assembly.lease, [artifact()]).job

    assert store.finish(assembly.lease, [artifact()]).job == first
    with pytest.raises(JobAborted):
        store.finish(assembly.lease, [artifact("other")])
    assert store.get(ALICE, job.id) == first


def test_a_repeated_claim_call_gets_the_same_item(redis_client: redis.Redis, store: JobStore) -> None:
    start_job(store, 5)
    functions = Functions(redis_client, "rhapsode", TEST_CLOCK)
    said = {"queue": GPU_QUEUE, "worker": WORKER.name, "boot_id": WORKER.boot_id, "lease_ms": 30_000, "call": "call-1"}

    assert functions.call("claim", **said) == functions.call("claim", **said)
    assert store.ready_counts()[GPU_QUEUE] == 4


def test_extending_keeps_a_lease_alive(store: JobStore, clock: Clock) -> None:
    start_job(store, 2)
    kept, left = claim(store, GPU_QUEUE), claim(store, GPU_QUEUE)
    for _ in range(3):
        clock.advance(LEASE_S / 2)
        assert store.extend([kept.lease], LEASE_S) == [LeaseStatus.HELD]
    store.reap()

    assert store.extend([kept.lease, left.lease], LEASE_S) == [LeaseStatus.HELD, LeaseStatus.LOST]
    assert store.extend([], LEASE_S) == []


def test_a_released_item_is_the_next_one_claimed(store: JobStore) -> None:
    start_job(store, 5)
    first = claim(store, GPU_QUEUE)

    assert store.release(first.lease, ReleaseReason.SHUTDOWN) == Tickets({GPU_QUEUE: 1})
    assert store.release(first.lease, ReleaseReason.SHUTDOWN) == Tickets()
    again = claim(store, GPU_QUEUE)

    assert (again.lease.item, again.attempt, again.suspicions) == ("0", 1, 0)


def test_nothing_that_comes_back_goes_before_the_first_segment(store: JobStore, clock: Clock) -> None:
    """As after a voice that was not ready yet: all of them wait for a while, and come back in any order."""
    start_job(store, num_segments=4)
    for item in [claim(store, GPU_QUEUE) for _ in range(3)]:
        store.postpone(item.lease, 1.0 + int(item.lease.item))
    clock.advance(10)
    store.reap()

    items = [claim(store, GPU_QUEUE).lease.item for _ in range(4)]
    assert items[0] == "0"

    second = start_job(store, num_segments=3).id
    held = [claim(store, GPU_QUEUE) for _ in range(3)]
    for item in held:
        store.release(item.lease, ReleaseReason.SHUTDOWN)
    again = claim(store, GPU_QUEUE).lease
    assert (again.job, again.item) == (second, "0")


def test_a_suspect_loses_attempts_only_in_quarantine(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, max_attempts=2)
    job = start_job(store, 2)
    seen = []
    while store.get(ALICE, job.id).state is JobState.RUNNING:
        item = claim(store, GPU_QUEUE)
        seen.append((item.attempt, item.suspicions))
        if item.suspicions >= QUARANTINE_SUSPICIONS:
            store.isolate(item.lease)
        store.release(item.lease, ReleaseReason.ENGINE_DIED)

    failed = store.get(ALICE, job.id)

    assert seen == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 4)]
    assert failed.state is JobState.FAILED
    assert failed.error is not None
    assert (failed.error.code, failed.error.segment) == ("worker_lost", 0)
    assert failed.segments.failed == 1
    assert failed.retries == 4


def test_a_suspect_whose_turn_had_not_come_is_held_nothing_against(store: JobStore, clock: Clock) -> None:
    start_job(store, 1)
    for _ in range(QUARANTINE_SUSPICIONS):
        store.release(claim(store, GPU_QUEUE).lease, ReleaseReason.ENGINE_DIED)

    claim(store, GPU_QUEUE)
    clock.advance(LEASE_S + 1)
    store.reap()
    claim(store, GPU_QUEUE)
    store.release_worker(WorkerIdentity(WORKER.name, "second"))

    again = claim(store, GPU_QUEUE)
    assert (again.attempt, again.suspicions) == (1, QUARANTINE_SUSPICIONS)


def test_a_transient_error_waits_and_costs_an_attempt(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 1)
    first = claim(store, GPU_QUEUE)
    store.retry_later(first.lease, TRANSIENT, 4)
    store.retry_later(first.lease, TRANSIENT, 4)

    clock.advance(3.9)
    assert store.reap().retries_due == 0
    assert store.claim(GPU_QUEUE, WORKER, LEASE_S).item is None
    clock.advance(0.1)
    swept = store.reap()
    again = claim(store, GPU_QUEUE)

    assert (swept.retries_due, swept.tickets) == (1, Tickets({GPU_QUEUE: 1}))
    assert again.attempt == 2
    assert store.get(ALICE, job.id).retries == 1


def test_the_last_attempt_fails_the_job_with_its_error(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, max_attempts=2)
    job = start_job(store, 3)
    bystander = claim(store, GPU_QUEUE)
    first = claim(store, GPU_QUEUE)
    store.retry_later(first.lease, TRANSIENT, 0)
    store.reap()
    last = claim(store, GPU_QUEUE)
    store.retry_later(last.lease, TRANSIENT, 0)
    store.reap()
    store.retry_later(last.lease, TRANSIENT, 0)

    failed = store.get(ALICE, job.id)

    assert failed.state is JobState.FAILED
    assert failed.error == JobError("storage_unavailable", "the store did not answer", segment=1)
    assert store.extend([bystander.lease], LEASE_S) == [LeaseStatus.ABORTED]
    with pytest.raises(JobAborted):
        store.commit_segment(bystander.lease, report())
    assert store.ready_counts() == {}
    assert store.audit_counters() == ()


def test_a_permanent_error_fails_the_job_at_once(store: JobStore) -> None:
    job = store.submit(submission()).job
    plan = claim(store, CPU_QUEUE)
    error = JobError("invalid_request", "there is nothing to speak")

    store.fail(plan.lease, error)
    store.fail(plan.lease, error)

    assert store.get(ALICE, job.id).error == error
    with pytest.raises(JobAborted):
        store.commit_plan(plan.lease, PlanResult("plan", 1, 1))


def test_a_new_boot_frees_what_its_predecessor_held(store: JobStore) -> None:
    start_job(store, 5)
    old, other = WorkerIdentity("gpu-0", "a"), WorkerIdentity("gpu-1", "a")
    claim(store, GPU_QUEUE, other)
    for _ in range(2):
        claim(store, GPU_QUEUE, old)

    new = WorkerIdentity("gpu-0", "b")
    assert store.release_worker(new) == Tickets({GPU_QUEUE: 2})
    assert store.release_worker(new) == Tickets()

    again = [claim(store, GPU_QUEUE, new) for _ in range(2)]
    assert sorted((i.lease.item, i.attempt, i.suspicions) for i in again) == [("1", 1, 1), ("2", 1, 1)]
    assert store.release_worker(new) == Tickets()


def test_cancelling_waits_for_the_running_segments(store: JobStore) -> None:
    job = start_job(store, 40)
    running = [claim(store, GPU_QUEUE) for _ in range(3)]

    assert store.cancel(ALICE, job.id).job.state is JobState.CANCELLING
    assert store.cancel(ALICE, job.id).job.state is JobState.CANCELLING
    assert store.ready_counts()[GPU_QUEUE] == 0
    assert store.claim(GPU_QUEUE, WORKER, LEASE_S).item is None
    with pytest.raises(JobAborted):
        store.commit_segment(running[0].lease, report())
    store.release(running[1].lease, ReleaseReason.SHUTDOWN)
    assert store.get(ALICE, job.id).state is JobState.CANCELLING
    assert store.extend([running[2].lease], LEASE_S) == [LeaseStatus.ABORTED]

    cancelled = store.get(ALICE, job.id)
    assert cancelled.state is JobState.CANCELLED
    assert cancelled.segments.running == 0
    assert store.audit_counters() == ()


def test_a_cancelled_job_whose_worker_is_gone_ends_with_the_lease(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 2)
    claim(store, GPU_QUEUE)
    store.cancel(ALICE, job.id)
    clock.advance(LEASE_S + 1)

    store.reap()

    assert store.get(ALICE, job.id).state is JobState.CANCELLED


def test_cancelling_what_no_worker_has_is_immediate(store: JobStore) -> None:
    waiting = store.submit(submission()).job
    paused = store.submit(submission()).job
    store.pause(ALICE, paused.id)

    assert store.cancel(ALICE, waiting.id).job.state is JobState.CANCELLED
    assert store.cancel(ALICE, paused.id).job.state is JobState.CANCELLED
    assert store.audit_counters() == ()


def test_ended_jobs_refuse_to_move(store: JobStore) -> None:
    job = start_job(store, 1)
    finish_segments(store, 1)
    store.finish(claim(store, CPU_QUEUE).lease, [artifact()])

    for call in (store.cancel, store.pause, store.resume):
        with pytest.raises(StateConflict):
            call(ALICE, job.id)


def test_a_paused_job_gives_out_nothing_but_keeps_what_runs(store: JobStore) -> None:
    job = start_job(store, 40)
    running = claim(store, GPU_QUEUE)

    assert store.pause(ALICE, job.id).job.state is JobState.PAUSED
    assert store.pause(ALICE, job.id).job.state is JobState.PAUSED
    assert store.claim(GPU_QUEUE, WORKER, LEASE_S).item is None
    assert store.commit_segment(running.lease, report()) == Tickets()
    assert store.get(ALICE, job.id).segments.done == 1
    resumed = store.resume(ALICE, job.id)

    assert resumed.job.state is JobState.RUNNING
    assert resumed.tickets == Tickets({GPU_QUEUE: 32})
    assert store.resume(ALICE, job.id).tickets == Tickets()
    assert store.ready_counts()[GPU_QUEUE] == 32
    assert claim(store, GPU_QUEUE).lease.item == "1"


def test_a_plan_committed_during_a_pause_opens_the_window_at_resume(store: JobStore) -> None:
    job = store.submit(submission()).job
    plan = claim(store, CPU_QUEUE)
    store.pause(ALICE, job.id)

    assert store.commit_plan(plan.lease, PlanResult("plan", 3, 9_000)) == Tickets()
    assert store.claim(GPU_QUEUE, WORKER, LEASE_S).item is None
    assert store.resume(ALICE, job.id).tickets == Tickets({GPU_QUEUE: 3})


def test_a_job_paused_before_its_start_resumes_to_pending(store: JobStore) -> None:
    job = store.submit(submission()).job
    store.pause(ALICE, job.id)

    assert store.claim(CPU_QUEUE, WORKER, LEASE_S).item is None
    assert store.resume(ALICE, job.id).job.state is JobState.PENDING
    assert claim(store, CPU_QUEUE).lease.job == job.id


def test_an_assembly_that_ends_during_a_pause_ends_the_job(store: JobStore) -> None:
    job = start_job(store, 1)
    finish_segments(store, 1)
    assembly = claim(store, CPU_QUEUE)
    store.pause(ALICE, job.id)

    assert store.finish(assembly.lease, [artifact()]).job.state is JobState.SUCCEEDED


def test_a_retry_due_during_a_pause_waits_for_resume(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 1)
    store.retry_later(claim(store, GPU_QUEUE).lease, TRANSIENT, 1)
    store.pause(ALICE, job.id)
    clock.advance(2)

    assert store.reap().tickets == Tickets()
    assert store.resume(ALICE, job.id).tickets == Tickets({GPU_QUEUE: 1})


def test_a_deadline_before_the_start_expires_the_job(store: JobStore, clock: Clock) -> None:
    swept = store.submit(submission(deadline_ms=clock.now_ms + 10_000)).job
    clock.advance(11)
    assert store.reap().jobs_expired == 1
    claimed = store.submit(submission(deadline_ms=clock.now_ms - 1)).job

    assert store.claim(CPU_QUEUE, WORKER, LEASE_S).item is None
    for job in (swept, claimed):
        assert store.get(ALICE, job.id).state is JobState.EXPIRED
    assert store.audit_counters() == ()


def test_a_deadline_during_the_run_fails_the_job(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 2, submission(deadline_ms=clock.now_ms + 10_000))
    segment = claim(store, GPU_QUEUE)
    assert segment.deadline_ms == clock.now_ms + 10_000
    clock.advance(10)
    store.reap()

    failed = store.get(ALICE, job.id)

    assert failed.state is JobState.FAILED
    assert failed.error is not None
    assert failed.error.code == "deadline_exceeded"
    assert store.extend([segment.lease], LEASE_S) == [LeaseStatus.ABORTED]


def test_a_deleted_job_leaves_a_tombstone_and_nothing_else(redis_client: redis.Redis, store: JobStore) -> None:
    job = start_job(store, 3)
    with pytest.raises(StateConflict):
        store.delete(ALICE, job.id)
    finish_segments(store, 1)
    lease = claim(store, GPU_QUEUE).lease
    store.fail(lease, TRANSIENT)

    store.delete(ALICE, job.id)
    store.delete(ALICE, job.id)

    assert [key for key in all_keys(redis_client) if job.id in key] == [f"{{rhapsode}}:tombstone:{job.id}"]
    with pytest.raises(JobGone):
        store.get(ALICE, job.id)
    with pytest.raises(JobNotFound):
        store.get(BOB, job.id)
    with pytest.raises(JobAborted):
        store.commit_segment(lease, report())
    assert store.list(ALICE, JobQuery()).entries == ()


def test_a_replay_of_a_deleted_job_says_that_it_is_gone(store: JobStore) -> None:
    job = store.submit(submission(idempotency=KEY)).job
    store.cancel(ALICE, job.id)
    store.delete(ALICE, job.id)

    with pytest.raises(JobGone):
        store.submit(submission(idempotency=KEY))


def test_retention_ends_after_its_time(store: JobStore, clock: Clock) -> None:
    job = store.submit(submission()).job
    store.cancel(ALICE, job.id)
    clock.advance(3599)
    assert store.expired_retentions(10) == []
    clock.advance(1)

    assert store.expired_retentions(10) == [(ALICE, job.id)]
    store.delete(ALICE, job.id)
    assert store.expired_retentions(10) == []


def test_nothing_of_deleted_jobs_accumulates(redis_client: redis.Redis, store: JobStore) -> None:
    def live_through() -> None:
        job = start_job(store, 3)
        finish_segments(store, 3)
        store.finish(claim(store, CPU_QUEUE).lease, [artifact()])
        store.delete(ALICE, job.id)

    live_through()
    for_good = ("tombstone", "claims")
    before = {key for key in all_keys(redis_client) if not any(name in key for name in for_good)}
    live_through()

    assert {key for key in all_keys(redis_client) if not any(name in key for name in for_good)} == before


def test_lists_page_by_age_in_both_directions(store: JobStore) -> None:
    ids = sorted(store.submit(submission()).job.id for _ in range(5))
    store.submit(submission(BOB))

    first = store.list(ALICE, JobQuery(limit=2))
    second = store.list(ALICE, JobQuery(limit=2, after=first.next_after))
    third = store.list(ALICE, JobQuery(limit=2, after=second.next_after))
    oldest = store.list(ALICE, JobQuery(limit=5, newest_first=False))

    assert [job.id for page in (first, second, third) for job in page.entries] == ids[::-1]
    assert third.next_after is None
    assert [job.id for job in oldest.entries] == ids
    assert oldest.next_after is None


def test_lists_filter_by_state_metadata_and_time(store: JobStore, clock: Clock) -> None:
    old = store.submit(submission(metadata={"book": "1", "part": "a"})).job
    clock.advance(10)
    new = store.submit(submission(metadata={"book": "2"})).job
    store.cancel(ALICE, new.id)

    def listed(query: JobQuery) -> list[JobId]:
        return [job.id for job in store.list(ALICE, query).entries]

    assert listed(JobQuery(states=frozenset({JobState.CANCELLED}))) == [new.id]
    assert listed(JobQuery(metadata={"book": "1"})) == [old.id]
    assert listed(JobQuery(created_after_ms=old.created_at_ms)) == [new.id]
    assert listed(JobQuery(created_before_ms=new.created_at_ms)) == [old.id]
    assert listed(JobQuery(states=frozenset({JobState.RUNNING}))) == []


def test_an_audit_names_what_differs_and_repairs_nothing(redis_client: redis.Redis, store: JobStore) -> None:
    store.submit(submission())
    redis_client.hset("{rhapsode}:counters", "cpu", 7)

    for _ in range(2):
        assert [(d.name, d.expected, d.actual) for d in store.audit_counters()] == [("ready:cpu", 1, 7)]


def test_a_lane_does_not_stop_at_a_job_that_vanished(redis_client: redis.Redis, store: JobStore) -> None:
    lost = store.submit(submission()).job
    redis_client.delete(f"{{rhapsode}}:job:{lost.id}")
    kept = store.submit(submission()).job

    assert claim(store, CPU_QUEUE).lease.job == kept.id
    assert store.ready_counts()[CPU_QUEUE] == 0


def test_a_sweep_does_not_stop_at_a_job_that_vanished(redis_client: redis.Redis, store: JobStore, clock: Clock) -> None:
    lost = start_job(store, 3, submission(deadline_ms=clock.now_ms + 5_000))
    claim(store, GPU_QUEUE)
    store.retry_later(claim(store, GPU_QUEUE).lease, TRANSIENT, 1)
    redis_client.delete(f"{{rhapsode}}:job:{lost.id}")
    clock.advance(LEASE_S + 1)

    first, second = store.reap(), store.reap()

    assert (first.leases_expired, first.retries_due, first.jobs_expired) == (1, 1, 1)
    assert (second.leases_expired, second.retries_due, second.jobs_expired) == (0, 0, 0)


def test_a_job_without_expected_audio_lives_like_any_other(store: JobStore) -> None:
    job = start_job(store, 1, submission(audio_ms=0))
    finish_segments(store, 1)

    assert store.finish(claim(store, CPU_QUEUE).lease, [artifact()]).job.state is JobState.SUCCEEDED
    assert store.cancel(ALICE, store.submit(submission(audio_ms=0)).job.id).job.state is JobState.CANCELLED
    assert store.get(ALICE, job.id).estimated_audio_ms == 0
    assert store.audit_counters() == ()


def test_a_redis_that_is_full_is_unavailable(redis_client: redis.Redis, store: JobStore) -> None:
    store.submit(submission())
    redis_client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable):
            store.submit(submission())
    finally:
        redis_client.config_set("maxmemory", 0)
    assert store.audit_counters() == ()


def test_a_redis_that_is_gone_is_unavailable() -> None:
    with StateRedis(host="127.0.0.1", port=1, decode_responses=True, retry=Retry(NoBackoff(), 0)) as unreachable:
        store = JobStore(unreachable)

        with pytest.raises(StoreUnavailable):
            store.get(ALICE, JobId("job_1"))
        with pytest.raises(StoreUnavailable):
            store.submit(submission())


def test_calls_survive_a_server_that_forgot_the_functions(redis_client: redis.Redis, store: JobStore) -> None:
    store.submit(submission())
    redis_client.function_flush()

    assert claim(store, CPU_QUEUE).lease.item == "plan"


def test_the_real_clock_is_the_servers(redis_client: redis.Redis) -> None:
    store = JobStore(redis_client)
    before_ms = server_ms(redis_client)

    job = store.submit(submission()).job

    assert before_ms <= job.created_at_ms <= server_ms(redis_client)


def server_ms(client: redis.Redis) -> int:
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


@pytest.mark.parametrize("digest", ["", "xyz", "ab" * 31])
def test_a_digest_that_is_none_is_refused(store: JobStore, digest: str) -> None:
    start_job(store, 1)
    lease = claim(store, GPU_QUEUE).lease
    wrong = report()

    with pytest.raises(ValueError, match=r"digest|sha256"):
        store.commit_segment(lease, type(wrong)(24_000, 24_000, 1, digest, "eos", 1))


def test_an_audit_in_steps_is_exact_although_jobs_come_go_and_change_meanwhile(store: JobStore) -> None:
    jobs = [start_job(store, 3) for _ in range(200)]
    held = claim(store, GPU_QUEUE)
    steps = store.audit_steps(10)

    assert next(steps) == []
    new = store.submit(submission(BOB)).job
    assert next(steps) == []
    store.commit_segment(held.lease, report())
    for job in jobs[::7]:
        store.cancel(ALICE, job.id)
    assert next(steps) == []
    finish_segments(store, 300)
    store.pause(BOB, new.id)
    differences = [found for step in steps for found in step]

    assert differences == []


def test_an_audit_finds_what_was_changed_behind_its_back(redis_client: redis.Redis, store: JobStore) -> None:
    for _ in range(200):
        store.submit(submission())
    steps = store.audit_steps(10)
    next(steps)

    redis_client.hincrby("{rhapsode}:counters", "cpu", 3)
    redis_client.hincrby("{rhapsode}:total", "jobs", -1)
    names = {found.name: found.actual - found.expected for step in steps for found in step}

    assert names == {"ready:cpu": 3, "jobs:total": -1}


def test_of_two_audits_the_later_one_counts(store: JobStore) -> None:
    for _ in range(200):
        store.submit(submission())
    overtaken = store.audit_steps(10)
    next(overtaken)

    assert store.audit_counters() == ()
    with pytest.raises(AuditOvertaken):
        next(overtaken)
