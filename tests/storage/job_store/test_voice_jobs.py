"""Jobs whose segments are voices, and items that wait for something else."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobState
from storage.database.keys import RedisKeys
from storage.errors import JobAborted, LeaseLost, StateConflict
from storage.job_store.store import JobStore
from storage.jobs.record import JobError, JobRecord
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, Lease, PlanResult, ReleaseReason
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.voice_reference import VoiceCacheSpec
from storage.queue.worker_slots import WorkerSlots
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import ALICE, LEASE_S, TEST_CLOCK, WORKER, Clock, claim, open_store, submission

VOICES = VoiceCacheSpec(model="small", model_revision="r1", num_voices=3)
QUEUE = speech_queue("small")
BROKEN = JobError("unsupported_media", "no speech in it")
ACTIONS = (
    *("claim", "claim", "claim", "commit", "commit", "fail", "retry", "postpone", "crowd", "crowd"),
    *("die", "wait", "pause", "resume"),
)
LONG_S = 3_600.0
"""Nothing comes back by itself so soon."""


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
    assert store.audit_counters() == ()


def test_a_voice_that_fails_does_not_stop_the_others(store: JobStore) -> None:
    job = start(store)

    store.fail(next_voice(store).lease, BROKEN)
    assert store.get(ALICE, job.id).state is JobState.RUNNING
    assert store.audit_counters() == ()
    for _ in range(2):
        store.commit_voice(next_voice(store).lease, 200)

    done = store.get(ALICE, job.id)
    assert (done.state, done.segments.done, done.segments.failed) == (JobState.FAILED, 2, 1)
    assert done.error == JobError("voice_cache_failed", "1 of 3 voices could not be prepared")
    events = [event for event in EventLog(store._redis).read(job.id) if event.type == "job.segment.failed"]  # pyright: ignore[reportPrivateUsage]
    assert [(event.data["segment"], event.data["code"]) for event in events] == [(0, "unsupported_media")]
    assert store.audit_counters() == ()


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


def test_as_many_voices_are_open_as_there_turn_out_to_be_places_for(redis_client: redis.Redis, store: JobStore) -> None:
    WorkerSlots(redis_client, clock=TEST_CLOCK).announce(QUEUE, "gpu-1", slots=256)
    start(store, num_voices=1_000)

    items = [next_voice(store) for _ in range(32)]
    assert store.ready_counts().get(QUEUE, 0) == 0, "a window of all the slots was opened, and most found no place"
    store.commit_voice(items.pop().lease, 1)
    assert store.ready_counts()[QUEUE] == 2, "no job waits for a place, so there may be more of them"
    waiting = next_voice(store)
    store.postpone(waiting.lease, LONG_S, waits_for_voice_slot=True)
    next_voice(store)
    store.commit_voice(items.pop().lease, 1)

    assert store.ready_counts()[QUEUE] == 1
    assert next_voice(store).lease.item == waiting.lease.item


def waiting_for_a_place(redis_client: redis.Redis) -> set[str]:
    return {
        str(name)
        for key in redis_client.scan_iter("*:voice_slot_waiters:*")
        for name in redis_client.zrange(key, 0, -1)
    }


def leave_by_success(store: JobStore, lease: Lease) -> Tickets:
    return store.commit_voice(lease, 1)


def leave_by_failure(store: JobStore, lease: Lease) -> Tickets:
    return store.fail(lease, BROKEN)


def leave_for_another_try(store: JobStore, lease: Lease) -> Tickets:
    return store.retry_later(lease, BROKEN, LONG_S)


def leave_for_another_build(store: JobStore, lease: Lease) -> Tickets:
    return store.postpone(lease, LONG_S)


@pytest.mark.parametrize("leave", [leave_by_success, leave_by_failure, leave_for_another_try, leave_for_another_build])
def test_a_voice_that_leaves_lets_in_the_one_that_waits_longest(
    store: JobStore, clock: Clock, leave: Callable[[JobStore, Lease], Tickets]
) -> None:
    start(store, num_voices=3)
    inside, first, second = (next_voice(store) for _ in range(3))
    for item in (first, second):
        store.postpone(item.lease, LONG_S, waits_for_voice_slot=True)
        store.postpone(item.lease, LONG_S, waits_for_voice_slot=True)
        clock.advance(0.01)
    assert store.ready_counts().get(QUEUE, 0) == 0

    tickets = leave(store, inside.lease)

    assert tickets == {QUEUE: 1}
    admitted = next_voice(store)
    assert (admitted.lease.item, admitted.attempt) == (first.lease.item, 1)
    assert store.audit_counters() == ()
    store.commit_voice(admitted.lease, 1)
    assert next_voice(store).lease.item == second.lease.item


def test_the_last_voice_of_a_job_lets_in_one_of_another_job(store: JobStore) -> None:
    start(store, num_voices=1)
    last = next_voice(store)
    other = start(store, num_voices=1)
    waiting = next_voice(store)
    store.postpone(waiting.lease, LONG_S, waits_for_voice_slot=True)

    store.commit_voice(last.lease, 1)

    store.commit_voice(next_voice(store).lease, 1)
    assert store.get(ALICE, other.id).state is JobState.SUCCEEDED


def test_a_job_goes_on_while_those_that_wait_are_of_another(redis_client: redis.Redis, clock: Clock) -> None:
    store = open_store(redis_client, window=1)
    start(store, num_voices=2)
    inside = next_voice(store)
    start(store, num_voices=1)
    store.postpone(next_voice(store).lease, LONG_S, waits_for_voice_slot=True)

    store.commit_voice(inside.lease, 1)

    assert store.ready_counts()[QUEUE] == 2
    assert store.audit_counters() == ()


def test_a_place_is_not_given_to_a_paused_job(store: JobStore, clock: Clock) -> None:
    paused = start(store, num_voices=1)
    store.postpone(next_voice(store).lease, LONG_S, waits_for_voice_slot=True)
    clock.advance(0.01)
    start(store, num_voices=2)
    inside, waiting = next_voice(store), next_voice(store)
    store.postpone(waiting.lease, LONG_S, waits_for_voice_slot=True)
    store.pause(ALICE, paused.id)

    store.commit_voice(inside.lease, 1)

    assert next_voice(store).lease.item == waiting.lease.item
    store.resume(ALICE, paused.id)
    assert store.ready_counts()[QUEUE] == 1
    assert store.audit_counters() == ()


def test_who_waits_for_a_place_comes_back_by_itself_and_is_admitted_no_second_time(
    store: JobStore, clock: Clock
) -> None:
    start(store, num_voices=2)
    inside, waiting = next_voice(store), next_voice(store)
    store.postpone(waiting.lease, 2.0, waits_for_voice_slot=True)
    clock.advance(2.5)
    assert store.reap().retries_due == 1
    back = next_voice(store)
    store.retry_later(back.lease, BROKEN, LONG_S)

    assert store.commit_voice(inside.lease, 1) == Tickets()


def test_a_job_that_ends_leaves_none_waiting_for_a_place(redis_client: redis.Redis, store: JobStore) -> None:
    job = start(store)
    store.postpone(next_voice(store).lease, LONG_S, waits_for_voice_slot=True)
    assert waiting_for_a_place(redis_client)

    store.cancel(ALICE, job.id)

    assert not waiting_for_a_place(redis_client)


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
        assert store.audit_counters() == ()
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
        elif action == "crowd":
            store.postpone(lease, 1.0, waits_for_voice_slot=True)
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
        assert store.audit_counters() == ()
        assert waiting_for_a_place(redis_client) <= set(
            redis_client.zrange(RedisKeys("rhapsode").single("retries"), 0, -1)
        )
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

    assert store.audit_counters() == ()
    for job in jobs:
        record = store.get(ALICE, job.id)
        counts = record.segments
        if record.state is not JobState.CANCELLED:
            assert counts.done + counts.failed == counts.total
            assert (record.state is JobState.SUCCEEDED) == (counts.failed == 0)
