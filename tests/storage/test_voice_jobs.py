"""Jobs whose segments are voices, and items that wait for something else."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace

import pytest
import redis

from storage.errors import JobAborted, LeaseLost, StateConflict
from storage.events import EventLog
from storage.job_states import JobState
from storage.job_store import JobStore
from storage.jobs import JobError, JobRecord
from storage.voice_reference import VoiceCacheSpec
from storage.work_items import ClaimedItem, Lease, PlanResult, ReleaseReason
from storage.work_queues import CPU_QUEUE, speech_queue
from tests.storage.job_driver import ALICE, LEASE_S, WORKER, Clock, claim, open_store, submission

VOICES = VoiceCacheSpec(model="small", model_revision="r1", num_voices=3)
QUEUE = speech_queue("small")
BROKEN = JobError("unsupported_media", "no speech in it")
ACTIONS = ("claim", "claim", "claim", "commit", "commit", "fail", "retry", "postpone", "die", "wait", "pause", "resume")


def start(store: JobStore, num_voices: int = 3) -> JobRecord:
    """A voice job whose plan is committed."""
    wanted = replace(submission(audio_ms=1_000 * num_voices), spec=replace(VOICES, num_voices=num_voices))
    store.submit(wanted)
    plan = claim(store, CPU_QUEUE)
    store.commit_plan(plan.lease, PlanResult(wanted.input_key, num_voices, 1_000 * num_voices))
    return store.get(ALICE, wanted.id)


def next_voice(store: JobStore) -> ClaimedItem:
    return claim(store, QUEUE)


def is_idle(store: JobStore) -> bool:
    claims = [store.claim(queue, WORKER, LEASE_S).item for queue in (CPU_QUEUE, QUEUE)]
    return claims == [None, None]


def test_a_voice_job_succeeds_with_its_last_voice_and_assembles_nothing(store: JobStore) -> None:
    job = start(store)

    for _ in range(3):
        item = next_voice(store)
        assert item.spec == VOICES
        store.commit_voice(item.lease, 200)
        store.commit_voice(item.lease, 200)

    done = store.get(ALICE, job.id)
    assert (done.state, done.segments.done, done.engine_ms) == (JobState.SUCCEEDED, 3, 600)
    assert is_idle(store)
    assert store.recount().differences == ()


def test_a_voice_that_fails_does_not_stop_the_others(store: JobStore) -> None:
    job = start(store)

    store.fail(next_voice(store).lease, BROKEN)
    assert store.get(ALICE, job.id).state is JobState.RUNNING
    assert store.recount().differences == ()
    for _ in range(2):
        store.commit_voice(next_voice(store).lease, 200)

    done = store.get(ALICE, job.id)
    assert (done.state, done.segments.done, done.segments.failed) == (JobState.FAILED, 2, 1)
    assert done.error == JobError("voice_cache_failed", "1 of 3 voices could not be prepared")
    events = [event for event in EventLog(store._redis).read(job.id) if event.type == "job.segment.failed"]  # pyright: ignore[reportPrivateUsage]
    assert [(event.data["segment"], event.data["code"]) for event in events] == [(0, "unsupported_media")]
    assert store.recount().differences == ()


def test_a_voice_that_kills_every_worker_is_given_up_alone(store: JobStore) -> None:
    job = start(store)
    store.isolate((poison := next_voice(store)).lease)
    for _ in range(10):
        store.release(poison.lease, ReleaseReason.WORKER_DIED)
        if (item := store.claim(QUEUE, WORKER, LEASE_S).item) is None or item.lease.item != poison.lease.item:
            break
        poison = item
        store.isolate(poison.lease)

    record = store.get(ALICE, job.id)
    assert (record.state, record.segments.failed) == (JobState.RUNNING, 1)


@pytest.mark.parametrize("num_bad", [0, 40])
def test_a_bulk_job_holds_a_window_of_voices_whatever_fails(store: JobStore, num_bad: int) -> None:
    job = start(store, num_voices=100)

    assert store.ready_counts()[QUEUE] == 32
    for number in range(100):
        item = next_voice(store)
        if number < num_bad:
            store.fail(item.lease, BROKEN)
        else:
            store.commit_voice(item.lease, 1)
        assert store.ready_counts().get(QUEUE, 0) <= 32

    assert store.get(ALICE, job.id).segments.done == 100 - num_bad
    assert store.get(ALICE, job.id).state.is_terminal


def test_a_cancelled_voice_job_takes_no_more_results(store: JobStore) -> None:
    job = start(store)
    item = next_voice(store)

    store.cancel(ALICE, job.id)

    with pytest.raises(JobAborted):
        store.commit_voice(item.lease, 200)
    assert store.get(ALICE, job.id).state is JobState.CANCELLED
    assert is_idle(store)


def test_a_paused_voice_job_that_is_finished_meanwhile_succeeds(store: JobStore) -> None:
    job = start(store, num_voices=1)
    item = next_voice(store)
    store.pause(ALICE, job.id)

    store.commit_voice(item.lease, 200)

    assert store.get(ALICE, job.id).state is JobState.SUCCEEDED


def test_a_postponed_item_comes_back_without_having_lost_an_attempt(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, max_attempts=1)
    start(store)
    item = next_voice(store)

    for _ in range(5):
        store.postpone(item.lease, 2.0)
        store.postpone(item.lease, 2.0)
        assert store.recount().differences == ()
        clock.advance(2.5)
        assert store.reap().retries_due == 1
        item = next_voice(store)
        assert (item.lease.item, item.attempt) == ("0", 1)

    store.commit_voice(item.lease, 1)


def test_a_lease_that_was_lost_postpones_nothing(store: JobStore, clock: Clock) -> None:
    start(store)
    item = next_voice(store)
    clock.advance(LEASE_S + 1)
    store.reap()

    with pytest.raises(LeaseLost):
        store.postpone(item.lease, 2.0)


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_calls_ends_every_voice_job_with_every_counter_right(
    redis_client: redis.Redis, clock: Clock, seed: int
) -> None:
    """Leases may be stale: what a call says then is an answer, and never changes a counter."""
    chance = random.Random(seed)
    store = open_store(redis_client, max_attempts=3, window=4)
    jobs = [start(store, num_voices=chance.randint(1, 9)) for _ in range(3)]
    leases: list[Lease] = []

    def step() -> None:
        action = chance.choice(ACTIONS)
        lease = chance.choice(leases[-6:]) if leases else None
        job = chance.choice(jobs)
        if action == "claim" or lease is None:
            if item := store.claim(QUEUE, WORKER, LEASE_S).item:
                leases.append(item.lease)
        elif action == "commit":
            store.commit_voice(lease, 5)
        elif action == "fail":
            store.fail(lease, BROKEN)
        elif action == "retry":
            store.retry_later(lease, BROKEN, 1.0)
        elif action == "postpone":
            store.postpone(lease, 1.0)
        elif action == "die":
            store.release(lease, ReleaseReason.WORKER_DIED)
        elif action == "wait":
            clock.advance(LEASE_S / 4)
            store.reap()
        elif action == "pause":
            store.pause(ALICE, job.id)
        else:
            store.resume(ALICE, job.id)

    for _ in range(80):
        with contextlib.suppress(LeaseLost, JobAborted, StateConflict):
            step()
        assert store.recount().differences == ()
    if chance.random() < 0.3:
        with contextlib.suppress(StateConflict):
            store.cancel(ALICE, jobs[0].id)
    for job in jobs:
        with contextlib.suppress(StateConflict):
            store.resume(ALICE, job.id)
    while not all(store.get(ALICE, job.id).state.is_terminal for job in jobs):
        clock.advance(LEASE_S + 1)
        store.reap()
        while item := store.claim(QUEUE, WORKER, LEASE_S).item:
            store.commit_voice(item.lease, 5)

    assert store.recount().differences == ()
    for job in jobs:
        record = store.get(ALICE, job.id)
        counts = record.segments
        if record.state is not JobState.CANCELLED:
            assert counts.done + counts.failed == counts.total
            assert (record.state is JobState.SUCCEEDED) == (counts.failed == 0)
