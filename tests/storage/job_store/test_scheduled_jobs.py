"""Jobs that wait for their time: nothing of them is done before, and no other job waits for them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobState, Priority
from storage.errors import StartPassed, StartTooLate
from storage.job_store.control import JobUpdate
from storage.job_store.queue_position import QueuePositions
from storage.job_store.store import JobStore
from storage.jobs.record_codec import encode_submission
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.recovery.journal import decode_lines
from tests.storage.job_store.job_driver import (
    ALICE,
    GPU_QUEUE,
    LEASE_S,
    TEST_CLOCK,
    WORKER,
    Clock,
    claim,
    open_control,
    start_job,
    submission,
)

HOUR_S = 3600


def scheduled(clock: Clock, in_s: float = HOUR_S, deadline_s: float | None = None) -> Submission:
    deadline_ms = None if deadline_s is None else clock.now_ms + round(deadline_s * 1000)
    return replace(submission(deadline_ms=deadline_ms), not_before_ms=clock.now_ms + round(in_s * 1000))


def test_nothing_is_claimed_before_its_time_and_one_ticket_is_sent_then(store: JobStore, clock: Clock) -> None:
    wanted = scheduled(clock)

    submitted = store.submit(wanted)
    clock.advance(HOUR_S - 1)
    too_early = (store.reap(), store.claim(CPU_QUEUE, WORKER, LEASE_S).item)
    clock.advance(1)
    swept = store.reap()

    assert (submitted.job.state, submitted.job.is_scheduled, submitted.tickets) == (JobState.PENDING, True, Tickets())
    assert (too_early[0].jobs_woken, too_early[1]) == (0, None)
    assert (swept.jobs_woken, swept.tickets) == (1, Tickets({CPU_QUEUE: 1}))
    assert claim(store, CPU_QUEUE).lease.job == wanted.id
    assert not store.get(ALICE, wanted.id).is_scheduled


def test_a_time_that_has_passed_is_as_good_as_none(store: JobStore, clock: Clock) -> None:
    submitted = store.submit(scheduled(clock, in_s=0))

    assert (submitted.job.is_scheduled, submitted.tickets.total()) == (False, 1)


def test_no_wait_is_reckoned_with_what_may_not_start(store: JobStore, clock: Clock, redis_client: redis.Redis) -> None:
    start_job(store, 2)
    places = QueuePositions(redis_client, clock=TEST_CLOCK)
    before = places.of_newcomer(GPU_QUEUE, store.get(ALICE, store.submit(submission()).job.id).job_class, ALICE, 1.0)

    sleeping = store.submit(scheduled(clock)).job
    meanwhile = places.of_newcomer(GPU_QUEUE, sleeping.job_class, ALICE, 1.0)
    clock.advance(HOUR_S)
    store.reap()
    awake = places.of_newcomer(GPU_QUEUE, sleeping.job_class, ALICE, 1.0)

    assert meanwhile.backlog_audio_s == before.backlog_audio_s
    assert awake.backlog_audio_s == before.backlog_audio_s + sleeping.estimated_audio_ms / 1000


def test_a_deadline_that_passes_first_ends_the_job_unspent(store: JobStore, clock: Clock) -> None:
    wanted = scheduled(clock, deadline_s=60)
    store.submit(wanted)
    clock.advance(61)

    swept = store.reap()

    assert (swept.jobs_expired, swept.jobs_woken) == (1, 0)
    assert store.get(ALICE, wanted.id).state is JobState.EXPIRED
    assert store.audit_counters() == ()


def test_a_paused_job_stays_paused_when_its_time_comes(store: JobStore, clock: Clock) -> None:
    wanted = scheduled(clock)
    store.submit(wanted)
    store.pause(ALICE, wanted.id)
    clock.advance(HOUR_S)

    swept = store.reap()
    claimed = store.claim(CPU_QUEUE, WORKER, LEASE_S).item
    resumed = store.resume(ALICE, wanted.id)

    assert (swept.jobs_woken, swept.tickets.total(), claimed) == (1, 0, None)
    assert resumed.tickets == Tickets({CPU_QUEUE: 1})


def test_a_cancelled_job_begins_at_once_when_it_is_retried(
    store: JobStore, clock: Clock, redis_client: redis.Redis
) -> None:
    wanted = scheduled(clock)
    store.submit(wanted)

    cancelled = store.cancel(ALICE, wanted.id).job
    again = open_control(redis_client).retry(ALICE, wanted.id)

    assert (cancelled.state, cancelled.is_scheduled) == (JobState.CANCELLED, False)
    assert (again.job.not_before_ms, again.tickets) == (None, Tickets({CPU_QUEUE: 1}))
    assert store.audit_counters() == ()


def test_the_time_is_moved_and_taken_away(store: JobStore, clock: Clock, redis_client: redis.Redis) -> None:
    control = open_control(redis_client)
    wanted = scheduled(clock)
    store.submit(wanted)

    sooner = control.patch(ALICE, wanted.id, JobUpdate(not_before_ms=clock.now_ms + 5_000)).job
    clock.advance(4)
    still_early = store.reap().jobs_woken
    now = control.patch(ALICE, wanted.id, JobUpdate(not_before_ms=0))

    assert (sooner.not_before_ms, sooner.is_scheduled, still_early) == (clock.now_ms + 1_000, True, 0)
    assert (now.job.not_before_ms, now.job.is_scheduled, now.tickets) == (None, False, Tickets({CPU_QUEUE: 1}))
    with pytest.raises(StartPassed):
        control.patch(ALICE, wanted.id, JobUpdate(not_before_ms=clock.now_ms + 5_000))


def test_it_cannot_be_moved_behind_its_deadline(store: JobStore, clock: Clock, redis_client: redis.Redis) -> None:
    control = open_control(redis_client)
    wanted = scheduled(clock, in_s=10, deadline_s=60)
    store.submit(wanted)

    with pytest.raises(StartTooLate):
        control.patch(ALICE, wanted.id, JobUpdate(Priority.HIGH, not_before_ms=clock.now_ms + 60_000))

    unchanged = store.get(ALICE, wanted.id)
    assert (unchanged.priority, unchanged.not_before_ms) == (Priority.NORMAL, wanted.not_before_ms)


def test_the_journal_knows_the_time(clock: Clock) -> None:
    wanted = scheduled(clock)

    assert decode_lines("a.jsonl", encode_submission(wanted).encode()) == (wanted,)
