"""Reopening, editing and retrying, call by call; the state machine's test covers their combinations."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobClass, JobPhase, JobState, Priority
from storage.errors import (
    IdempotencyMismatch,
    JobAborted,
    JobGone,
    JobNotFound,
    LeaseLost,
    QuotaExceeded,
    SegmentBusy,
    SegmentNotFound,
    StateConflict,
    TooManyTakes,
)
from storage.job_store.control import JobControl, JobUpdate
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.store import JobStore
from storage.jobs.record import JobError, JobRecord
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.voice_reference import VoiceCacheSpec
from storage.segments.edits import MAX_TAKES, UNEDITED, SegmentEdit
from storage.segments.results import SegmentReport
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    SPEC,
    Clock,
    artifact,
    claim,
    finish_segments,
    open_control,
    open_store,
    report,
    start_job,
    submission,
)
from tests.threads import BoundedExecutor

REPORT = SegmentReport(2_400, 24_000, 13, "0" * 64, "eos", 0, flags=("noise",))
OTHERWISE = SegmentEdit(text="Otherwise.")


@pytest.fixture
def control(redis_client: redis.Redis, clock: Clock) -> JobControl:
    return open_control(redis_client)


@pytest.fixture
def reader(redis_client: redis.Redis) -> SegmentReader:
    return SegmentReader(redis_client)


def finished(store: JobStore, num_segments: int = 3) -> JobRecord:
    job = start_job(store, num_segments)
    finish_segments(store, num_segments)
    return store.finish(claim(store, CPU_QUEUE).lease, [artifact(f"{job.id}/first")]).job


def speak(store: JobStore) -> int:
    item = claim(store, GPU_QUEUE)
    store.commit_segment(item.lease, report(f"take {item.take}", take=item.take))
    return item.lease.fence


def test_a_reopened_job_has_a_new_run_and_keeps_what_it_made(
    store: JobStore, control: JobControl, clock: Clock
) -> None:
    job = finished(store)
    clock.advance(60)

    outcome = control.edit(ALICE, job.id, {1: SegmentEdit(text="Otherwise.")})

    again = outcome.job
    assert outcome.tickets == Tickets({GPU_QUEUE: 1})
    assert (again.state, again.phase, again.run) == (JobState.PENDING, JobPhase.SYNTHESIZING, 1)
    assert (again.started_at_ms, again.finished_at_ms, again.expires_at_ms, again.error) == (None, None, None, None)
    assert (again.segments.done, again.chars_done, again.samples_done) == (2, 20, 48_000)
    assert again.artifacts == job.artifacts
    assert store.expired_retentions() == []
    speak(store)
    ended = store.finish(claim(store, CPU_QUEUE).lease, [artifact(f"{job.id}/second")]).job
    assert (ended.state, ended.segments.done, ended.chars_done) == (JobState.SUCCEEDED, 3, 30)
    assert ended.expires_at_ms == clock.now_ms + 3_600_000
    assert store.audit_counters() == ()


def test_a_rerun_counts_for_what_is_left_of_it_only(redis_client: redis.Redis, clock: Clock) -> None:
    limits = AdmissionLimits(tenant_audio_ms=90_000)
    store, control = open_store(redis_client, limits), open_control(redis_client, limits)
    job = finished(store, 3)

    control.edit(ALICE, job.id, {0: SegmentEdit(text="Otherwise.")})

    held = redis_client.hgetall("{rhapsode}:admission:alice")
    assert (held["jobs"], held["audio_ms"]) == ("1", "20000")
    store.submit(submission(audio_ms=60_000))
    with pytest.raises(QuotaExceeded):
        store.submit(submission(audio_ms=20_000))


def test_a_small_rerun_of_a_long_job_is_interactive(store: JobStore, control: JobControl) -> None:
    job = finished(store, 3)
    assert job.job_class is JobClass.BULK

    assert control.edit(ALICE, job.id, {0: SegmentEdit(text="Otherwise.")}).job.job_class is JobClass.INTERACTIVE


def test_a_late_commit_of_a_filed_take_is_answered_as_the_first_time(store: JobStore, control: JobControl) -> None:
    """Its worker would delete the object of a result that was refused."""
    job = start_job(store, 2)
    item = claim(store, GPU_QUEUE)
    store.commit_segment(item.lease, report())
    control.regenerate(ALICE, job.id, 0, None, None)

    store.commit_segment(item.lease, report())

    with pytest.raises(LeaseLost):
        store.commit_segment(item.lease, report("something else"))


def test_a_late_finish_of_the_run_before_is_answered_as_the_first_time(store: JobStore, control: JobControl) -> None:
    start_job(store, 1)
    speak(store)
    first = claim(store, CPU_QUEUE)
    job = store.finish(first.lease, [artifact("first")]).job
    control.assemble(ALICE, job.id, lambda spec: spec, None)

    assert store.finish(first.lease, [artifact("first")]).job.state is JobState.PENDING
    with pytest.raises(LeaseLost):
        store.finish(first.lease, [artifact("other")])


def test_a_worker_of_the_run_before_can_commit_nothing(store: JobStore, control: JobControl) -> None:
    job = start_job(store, 3)
    item = claim(store, GPU_QUEUE)
    store.cancel(ALICE, job.id)
    with pytest.raises(JobAborted):
        store.commit_segment(item.lease, report())
    control.retry(ALICE, job.id)

    with pytest.raises(LeaseLost):
        store.commit_segment(item.lease, report())
    assert store.ready_counts() == {GPU_QUEUE: 3}


def test_a_job_that_was_never_planned_is_planned_on_retry(store: JobStore, control: JobControl, clock: Clock) -> None:
    job = store.submit(submission(deadline_ms=clock.now_ms + 1_000)).job
    clock.advance(2)
    store.reap()
    assert store.get(ALICE, job.id).state is JobState.EXPIRED

    again = control.retry(ALICE, job.id).job

    assert (again.state, again.deadline_ms, store.ready_counts()) == (JobState.PENDING, None, {CPU_QUEUE: 1})


def test_a_thousand_missing_segments_fit_into_one_retry(redis_client: redis.Redis, clock: Clock) -> None:
    store, control = open_store(redis_client, window=3_000), open_control(redis_client, window=3_000)
    job = start_job(store, 3_000)
    for _ in range(20):
        store.commit_segment(claim(store, GPU_QUEUE).lease, report())
    opened = store.ready_counts()[GPU_QUEUE]
    store.cancel(ALICE, job.id)

    again = control.retry(ALICE, job.id)

    assert again.tickets.total() >= opened > 1_000
    assert again.job.segments.done == 20
    assert store.audit_counters() == ()


def test_takes_come_to_an_end(store: JobStore, control: JobControl, reader: SegmentReader) -> None:
    job = start_job(store, 1)
    for _ in range(MAX_TAKES - 1):
        speak(store)
        control.regenerate(ALICE, job.id, 0, None, None)
    speak(store)

    with pytest.raises(TooManyTakes):
        control.regenerate(ALICE, job.id, 0, None, None)
    assert [take.number for take in reader.takes(job.id, 0)] == list(range(1, MAX_TAKES + 1))


def test_a_key_makes_another_take_once(store: JobStore, control: JobControl, reader: SegmentReader) -> None:
    job = finished(store)
    key = IdempotencyKey("again", "print")

    for _ in range(3):
        control.regenerate(ALICE, job.id, 0, None, key)
        if store.ready_counts()[GPU_QUEUE]:
            speak(store)

    assert [take.number for take in reader.takes(job.id, 0)] == [1, 2]
    with pytest.raises(IdempotencyMismatch):
        control.regenerate(ALICE, job.id, 0, 5, IdempotencyKey("again", "other"))


def test_two_edits_at_once_are_both_in_force(store: JobStore, control: JobControl, reader: SegmentReader) -> None:
    job = finished(store)
    edits = [SegmentEdit(text="Said."), SegmentEdit(language="German"), SegmentEdit(seed=3), SegmentEdit(speaker="BOB")]

    with BoundedExecutor(len(edits)) as users:
        for outcome in [users.submit(control.edit, ALICE, job.id, {0: edit}) for edit in edits]:
            outcome.result()

    assert reader.states(job.id).edit(0) == SegmentEdit("Said.", speaker="BOB", language="German", seed=3)
    assert reader.states(job.id).num_takes(0) == 2


def test_many_segments_change_together_and_return_to_their_takes(
    redis_client: redis.Redis, clock: Clock, reader: SegmentReader
) -> None:
    """More than Lua unpacks at once."""
    num_segments = 2_100
    store, control = open_store(redis_client, window=3_000), open_control(redis_client, window=3_000)
    job = start_job(store, num_segments)
    for number in range(3):
        speak(store)
        assert store.get(ALICE, job.id).segments.done == number + 1

    changed = control.edit(ALICE, job.id, {index: SegmentEdit(speaker="BOB") for index in range(num_segments)})

    assert changed.job.segments.done == 0
    states = reader.states(job.id)
    assert [states.take(index) for index in range(5)] == [2, 2, 2, 1, 1]
    assert {states.edit(index).speaker for index in range(num_segments)} == {"BOB"}
    assert [claim(store, GPU_QUEUE).lease.item for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(SegmentBusy):
        control.select_takes(ALICE, job.id, {0: 1, 2: 1})
    assert store.audit_counters() == ()


def test_takes_are_selected_together(store: JobStore, control: JobControl, reader: SegmentReader) -> None:
    job = finished(store)
    control.edit(ALICE, job.id, {0: SegmentEdit(speaker="BOB"), 2: SegmentEdit(speaker="BOB")})

    again = control.select_takes(ALICE, job.id, {0: 1, 1: 1, 2: 1})

    assert (again.job.segments.done, again.job.phase) == (3, JobPhase.ASSEMBLING)
    states = reader.states(job.id)
    assert [(states.take(index), states.edit(index)) for index in range(3)] == [(1, UNEDITED)] * 3
    assert store.audit_counters() == ()


def test_a_rejected_attempt_is_the_result_of_the_failure_it_belongs_to(
    store: JobStore, control: JobControl, reader: SegmentReader
) -> None:
    job = start_job(store, 2)
    speak(store)
    lease = claim(store, GPU_QUEUE).lease
    with pytest.raises(SegmentNotFound):
        control.select_rejected(ALICE, job.id, 1, lease.fence, REPORT)
    store.fail(lease, JobError("segment_quality", "a noise", 1, 2))
    with pytest.raises(SegmentNotFound):
        control.select_rejected(ALICE, job.id, 1, lease.fence + 1, REPORT)

    kept = control.select_rejected(ALICE, job.id, 1, lease.fence, REPORT)
    again = control.select_rejected(ALICE, job.id, 1, lease.fence, REPORT)

    assert kept.job == again.job
    assert (kept.job.state, kept.job.segments.done, kept.job.segments.failed) == (JobState.FAILED, 2, 0)
    assert reader.states(job.id).results[1].flags == ("noise",)
    assert control.retry(ALICE, job.id).job.phase is JobPhase.ASSEMBLING
    assert store.audit_counters() == ()


def test_one_refused_segment_leaves_the_others_as_they_are(
    store: JobStore, control: JobControl, redis_client: redis.Redis
) -> None:
    job = start_job(store, 3)
    speak(store)
    claim(store, GPU_QUEUE)
    before = {key: redis_client.dump(key) for key in redis_client.scan_iter()}

    for refused, call in (
        (SegmentBusy, lambda: control.edit(ALICE, job.id, {0: OTHERWISE, 1: OTHERWISE})),
        (SegmentNotFound, lambda: control.edit(ALICE, job.id, {0: OTHERWISE, 3: OTHERWISE})),
        (SegmentNotFound, lambda: control.select_takes(ALICE, job.id, {0: 1, 2: 1})),
    ):
        with pytest.raises(refused):
            call()

    assert {key: redis_client.dump(key) for key in redis_client.scan_iter()} == before


def test_what_another_tenant_has_is_not_found(store: JobStore, control: JobControl) -> None:
    job = finished(store)

    for call in (
        lambda: control.retry(BOB, job.id),
        lambda: control.edit(BOB, job.id, {0: SegmentEdit(text="x")}),
        lambda: control.regenerate(BOB, job.id, 0, None, None),
        lambda: control.select_takes(BOB, job.id, {0: 1}),
        lambda: control.select_rejected(BOB, job.id, 0, 7, REPORT),
        lambda: control.assemble(BOB, job.id, lambda spec: spec, None),
        lambda: control.patch(BOB, job.id, JobUpdate(Priority.HIGH)),
    ):
        with pytest.raises(JobNotFound):
            call()


def test_a_job_whose_retention_is_over_does_not_come_back(store: JobStore, control: JobControl, clock: Clock) -> None:
    """The janitor may be deleting what it made."""
    job = finished(store)
    clock.advance(3_600)
    assert store.expired_retentions() == [(ALICE, job.id)]

    for call in (
        lambda: control.edit(ALICE, job.id, {0: SegmentEdit(text="x")}),
        lambda: control.regenerate(ALICE, job.id, 0, None, None),
        lambda: control.select_takes(ALICE, job.id, {0: 1}),
        lambda: control.select_rejected(ALICE, job.id, 0, 7, REPORT),
        lambda: control.assemble(ALICE, job.id, lambda spec: spec, None),
    ):
        with pytest.raises(JobGone):
            call()


def test_a_deleted_job_leaves_nothing_of_its_takes_and_edits(
    store: JobStore, control: JobControl, redis_client: redis.Redis
) -> None:
    job = finished(store)
    control.edit(ALICE, job.id, {0: SegmentEdit(text="Otherwise.")})
    store.cancel(ALICE, job.id)

    store.delete(ALICE, job.id)

    assert [key for key in redis_client.scan_iter() if job.id in key] == [f"{{rhapsode}}:tombstone:{job.id}"]
    with pytest.raises(JobGone):
        control.retry(ALICE, job.id)


def test_a_plan_alone_and_a_job_of_voices_have_no_segments_to_change(store: JobStore, control: JobControl) -> None:
    plan_only = store.submit(replace(submission(), spec=SPEC.asking(validate_only=True))).job
    voices = store.submit(replace(submission(), spec=VoiceCacheSpec("small", "r1", 2))).job

    for job in (plan_only, voices):
        with pytest.raises(StateConflict):
            control.edit(ALICE, job.id, {0: SegmentEdit(text="x")})
    with pytest.raises(SegmentNotFound):
        control.edit(ALICE, store.submit(submission()).job.id, {0: SegmentEdit(text="x")})
