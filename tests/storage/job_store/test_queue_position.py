"""A job's place and the pace it can expect."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.states import JobClass, Priority
from storage.ids import TenantId
from storage.job_store.queue_position import QueuePosition, QueuePositions, left_audio_s
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey
from storage.queue.worker_slots import WorkerSlots
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    GPU_QUEUE,
    TEST_CLOCK,
    Clock,
    claim,
    report,
    start_job,
    submission,
)

CAROL = TenantId("carol")


@pytest.fixture
def places(redis_client: redis.Redis, clock: Clock) -> QueuePositions:
    return QueuePositions(redis_client, clock=TEST_CLOCK)


def waiting(store: JobStore, tenant: TenantId, audio_ms: int = 60_000) -> JobRecord:
    return store.submit(submission(tenant, audio_ms, Priority.LOW)).job


def speak(store: JobStore, clock: Clock, seconds: float, audio_s: float) -> None:
    """One segment that took so long."""
    item = claim(store, GPU_QUEUE)
    clock.advance(seconds)
    store.commit_segment(item.lease, report(num_samples=round(audio_s * 24_000), engine_ms=round(seconds * 1_000)))


def test_tenants_take_turns(store: JobStore, places: QueuePositions) -> None:
    first, second, third = (waiting(store, ALICE) for _ in range(3))
    other = waiting(store, BOB)

    positions = [places.of_job(job).position for job in (first, other, second, third)]

    # Alice, Bob, Alice, Alice: Bob has one job, and it is served second although it came last.
    assert positions == [0, 1, 2, 3]


@pytest.mark.parametrize("is_known", [True, False], ids=["functions the server knows", "functions it has forgotten"])
def test_a_job_that_comes_in_is_told_its_place_at_once(
    store: JobStore, places: QueuePositions, redis_client: redis.Redis, is_known: bool
) -> None:
    waiting(store, ALICE)
    if not is_known:
        redis_client.function_flush()

    submitted = store.submit_placed(submission(ALICE, 60_000, Priority.LOW))

    assert submitted.place == places.of_job(submitted.job)
    assert submitted.place is not None
    assert submitted.place.position == 1


def test_a_repeat_is_told_no_place_of_a_job_that_it_did_not_make(store: JobStore) -> None:
    key = IdempotencyKey("key", "fingerprint")
    first = store.submit_placed(replace(submission(), idempotency=key))

    repeat = store.submit_placed(replace(submission(), idempotency=key))

    assert (repeat.replayed, repeat.job.id, repeat.place) == (True, first.job.id, None)


def test_a_newcomer_is_told_that_it_comes_first_and_it_does(store: JobStore, places: QueuePositions) -> None:
    """Two tenants wait with much; a third comes twice, the second time before the others had a turn."""
    for tenant in (ALICE, BOB):
        start_job(store, 20, submission(tenant, 240_000, Priority.LOW))
    for _ in range(4):
        claim(store, GPU_QUEUE)
    told: list[int] = []
    served: list[int] = []
    for _ in range(2):
        job = start_job(store, 1, submission(CAROL, 12_000, Priority.LOW))
        told.append(places.of_job(job).position)
        claims = [claim(store, GPU_QUEUE).lease.job for _ in range(told[-1] + 1)]
        served.append(claims.index(job.id))

    # Whose turn it is has used it up, so that one tenant is before the newcomer.
    assert told == served == [0, 1]


def test_the_work_ahead_is_what_came_earlier_in_the_class(store: JobStore, places: QueuePositions) -> None:
    first = store.submit(submission(audio_ms=60_000)).job
    second = store.submit(submission(audio_ms=90_000)).job
    quick = store.submit(submission(audio_ms=1_000)).job

    assert [places.of_job(job).ahead_audio_s for job in (first, second, quick)] == [0, 60, 0]
    store.cancel(ALICE, first.id)
    assert places.of_job(second).ahead_audio_s == 0


def test_a_job_at_work_has_no_other_before_it(store: JobStore, places: QueuePositions) -> None:
    job = start_job(store, 1)
    claim(store, GPU_QUEUE)

    assert places.of_job(store.get(ALICE, job.id)).position == 0


def test_nothing_is_promised_before_anything_was_measured(store: JobStore, places: QueuePositions) -> None:
    place = places.of_job(waiting(store, ALICE))

    assert (place.pace, place.seconds_for(60)) == (0, None)


def test_the_pace_is_of_time_with_work(
    store: JobStore, places: QueuePositions, clock: Clock, redis_client: redis.Redis
) -> None:
    WorkerSlots(redis_client, clock=TEST_CLOCK).announce(GPU_QUEUE, "w", 1)
    job = start_job(store, 30)
    for _ in range(10):
        speak(store, clock, seconds=2, audio_s=6)
    clock.advance(3_000)
    speak(store, clock, seconds=2, audio_s=6)

    place = places.of_job(store.get(ALICE, job.id))

    assert place.pace == pytest.approx(3, rel=0.1)
    assert place.slots == 0, "the worker has not been heard of for long"
    assert place.seconds_for(60) is None


def test_side_by_side_segments_add_up(store: JobStore, places: QueuePositions, clock: Clock) -> None:
    job = start_job(store, 40)
    for _ in range(10):
        leases = [claim(store, GPU_QUEUE).lease for _ in range(4)]
        clock.advance(2)
        for lease in leases:
            store.commit_segment(lease, report(num_samples=6 * 24_000, engine_ms=2_000))

    assert places.of_job(store.get(ALICE, job.id)).pace == pytest.approx(12, rel=0.1)


def test_single_sentences_do_not_tell_the_pace_of_a_batch(
    redis_client: redis.Redis, store: JobStore, places: QueuePositions, clock: Clock
) -> None:
    """Where one worker speaks four at a time, four spoken one by one say nothing of a job of many."""
    slots = WorkerSlots(redis_client, clock=TEST_CLOCK)
    job = start_job(store, num_segments=12)
    for _ in range(4):
        speak(store, clock, seconds=2, audio_s=4)
    slots.announce(GPU_QUEUE, "w", 4)
    alone = places.of_job(store.get(ALICE, job.id))

    for _ in range(2):
        items = [claim(store, GPU_QUEUE) for _ in range(4)]
        clock.advance(2)
        for item in items:
            store.commit_segment(item.lease, report(num_samples=4 * 24_000, engine_ms=2_000))
    slots.announce(GPU_QUEUE, "w", 4)
    together = places.of_job(store.get(ALICE, job.id))

    assert (alone.pace, alone.seconds_for(60.0)) == (0.0, None)
    assert together.pace > 2
    assert together.seconds_for(60.0) is not None


def test_the_paces_of_two_models_do_not_mix(store: JobStore, places: QueuePositions, clock: Clock) -> None:
    start_job(store, 3)
    speak(store, clock, seconds=1, audio_s=5)
    other = store.submit(submission(model="large")).job

    assert places.of_job(other).pace == 0


@pytest.mark.parametrize(
    ("share", "backlog_s", "seconds"),
    [
        (1.0, 60, 6),  # alone
        (0.5, 1_000, 12),  # one other, with much more to do
        (0.5, 70, 7),  # one other, that is soon through
        (0.04, 80, 8),  # never longer than everything together
    ],
)
def test_others_take_their_share_and_no_more(share: float, backlog_s: float, seconds: float) -> None:
    place = QueuePosition(position=0, pace=10, share=share, slots=4, backlog_audio_s=backlog_s)

    assert place.seconds_for(60) == pytest.approx(seconds)


def test_a_newcomer_shares_with_those_who_wait(store: JobStore, places: QueuePositions, clock: Clock) -> None:
    start_job(store, 40, submission(ALICE, 400_000, Priority.LOW))
    speak(store, clock, seconds=1, audio_s=10)

    place = places.of_newcomer(GPU_QUEUE, JobClass.BULK, BOB, audio_s=100)

    assert place.share == 0.5
    assert place.backlog_audio_s == pytest.approx(390 + 100)


def test_what_is_left_follows_how_long_the_segments_turn_out(store: JobStore, clock: Clock) -> None:
    job = start_job(store, 10, submission(ALICE, 100_000))
    for _ in range(5):
        speak(store, clock, seconds=1, audio_s=5)

    # Half is spoken, and was half as long as expected.
    assert left_audio_s(store.get(ALICE, job.id)) == pytest.approx(25)
