"""The janitor's chores, one by one, on the real job store and broker."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

import pytest
import redis

from rhapsode.contract.jobs.output import Destination, Output
from rhapsode.contract.jobs.states import JobState
from storage.errors import JobGone, StoreUnavailable
from storage.ids import JobId, TenantId, new_job_id
from storage.job_store.store import RECALL_STEP
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import LeaseStatus, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.queue.celery_queue import TicketQueue
from storage.recovery.audit_log import AuditLog
from storage.recovery.reconcile import Reconciler
from storage.recovery.state_guard import StateGuard
from storage.webhooks.deliveries import WebhookQueue
from tests.worker.items.test_batches import jobs_of, put_batch
from tests.worker.studio import SPEC, TENANT, Studio
from worker.janitor.periodic_jobs import Chore, run_chores
from worker.janitor.sweeper import ORPHAN_AGE_S, Janitor, Leadership, chores_of, removals_of
from worker.janitor.voices import VoiceJanitor
from worker.janitor.webhooks import HookJanitor
from worker.process.state_watch import StateWatch


@pytest.fixture
def janitor(studio: Studio, redis_client: redis.Redis, tickets: TicketQueue) -> Janitor:
    return Janitor(studio.jobs, AuditLog(redis_client), studio.artifacts, tickets, ticket_cap=8)


@pytest.fixture
def hooks(redis_client: redis.Redis, tickets: TicketQueue) -> HookJanitor:
    return HookJanitor(WebhookQueue(redis_client), tickets, ticket_cap=8)


@pytest.fixture
def state(studio: Studio, redis_client: redis.Redis) -> StateWatch:
    guard = StateGuard(redis_client, studio.artifacts, "rhapsode")
    return StateWatch(guard, Reconciler(redis_client, studio.artifacts), studio.services.worker.tickets)


@pytest.fixture
def voices(studio: Studio, redis_client: redis.Redis) -> VoiceJanitor:
    return VoiceJanitor(studio.services.worker.voice_store, studio.artifacts)


def age(folder: Path, by_s: float) -> None:
    """Make every file in the folder older."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - by_s, time.time() - by_s))


def test_missing_tickets_are_replaced_and_present_ones_are_not(
    studio: Studio, janitor: Janitor, tickets: TicketQueue
) -> None:
    for _ in range(3):
        studio.submit()

    assert janitor.top_up() == Tickets({CPU_QUEUE: 3})
    assert janitor.top_up() == Tickets()
    assert tickets.waiting(CPU_QUEUE) == 3


def test_no_more_tickets_wait_than_the_cap(studio: Studio, janitor: Janitor, tickets: TicketQueue) -> None:
    for _ in range(12):
        studio.submit()

    janitor.top_up()

    assert tickets.waiting(CPU_QUEUE) == 8


def test_an_expired_lease_goes_back_and_gets_a_ticket(studio: Studio, janitor: Janitor, tickets: TicketQueue) -> None:
    studio.submit()
    assert studio.jobs.claim(CPU_QUEUE, WorkerIdentity("gone", "1"), 0.01).item is not None
    time.sleep(0.05)

    janitor.sweep()
    janitor.top_up()

    assert studio.jobs.ready_counts()[CPU_QUEUE] == 1
    assert tickets.waiting(CPU_QUEUE) == 1


def test_workers_may_extend_their_leases_before_the_sweep_after_an_outage(studio: Studio, janitor: Janitor) -> None:
    studio.submit()
    item = studio.jobs.claim(CPU_QUEUE, WorkerIdentity("alive", "1"), 0.01).item
    assert item is not None
    time.sleep(0.05)

    janitor.redis_was_away()
    janitor.sweep()

    assert studio.jobs.extend([item.lease], 10) == [LeaseStatus.HELD]


def test_drift_is_reported_and_left_alone(
    studio: Studio, janitor: Janitor, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    studio.submit()
    redis_client.hincrby("{rhapsode}:counters", "cpu", 5)

    janitor.audit()

    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == ["counter drift"]
    assert studio.jobs.ready_counts()[CPU_QUEUE] == 6


def test_a_healthy_system_has_no_drift(studio: Studio, janitor: Janitor, caplog: pytest.LogCaptureFixture) -> None:
    studio.submit()
    studio.drain()

    janitor.audit()

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_job_whose_retention_is_over_leaves_nothing(
    studio: Studio, janitor: Janitor, redis_client: redis.Redis
) -> None:
    to_books = Output(destination=Destination(prefix="books/42/"))
    job = studio.submit(spec=SPEC.asking(output=to_books))
    studio.drain()
    delivered = list(studio.artifacts.list(keys.DELIVERED))
    entry = f"{TENANT}|{job.id}"
    redis_client.zadd("{rhapsode}:retention", {entry: 1}, xx=True)

    janitor.end_retentions()

    assert len(delivered) == 3
    assert [entry.key for entry in studio.artifacts.list("") if job.id in entry.key] == []
    with pytest.raises(JobGone):
        studio.record(job)


def test_a_running_job_keeps_its_objects_however_old(studio: Studio, janitor: Janitor, tmp_path: Path) -> None:
    job = studio.submit()
    age(tmp_path, by_s=ORPHAN_AGE_S + 60)

    janitor.sweep_orphans()

    studio.drain()
    assert studio.record(job).state is JobState.SUCCEEDED


def test_a_text_whose_job_was_never_accepted_is_removed_after_a_day(
    studio: Studio, janitor: Janitor, tmp_path: Path
) -> None:
    key = keys.input_text(TENANT, new_job_id())
    studio.artifacts.put(key, b"the API died before it submitted this")

    janitor.sweep_orphans()
    kept = studio.artifacts.stat(key)
    age(tmp_path, by_s=ORPHAN_AGE_S + 60)
    janitor.sweep_orphans()

    assert kept is not None
    assert studio.artifacts.stat(key) is None


def test_finished_work_that_redis_does_not_know_is_reported_and_kept(
    studio: Studio, janitor: Janitor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = keys.segment(TenantId("local"), JobId("job_forgotten"), 0, 1)
    studio.artifacts.put(key, b"audio")
    age(tmp_path, by_s=ORPHAN_AGE_S + 60)

    janitor.sweep_orphans()

    assert studio.artifacts.stat(key) is not None
    assert "objects of an unknown job" in caplog.messages


def test_leftovers_of_a_deleted_job_are_removed(studio: Studio, janitor: Janitor, tmp_path: Path) -> None:
    job = studio.submit()
    studio.drain()
    studio.jobs.delete(TENANT, job.id)
    age(tmp_path, by_s=ORPHAN_AGE_S + 60)

    janitor.sweep_orphans()

    assert list(studio.artifacts.list(keys.job_prefix(TENANT, job.id))) == []


def test_unfinished_files_are_swept(janitor: Janitor, studio: Studio, tmp_path: Path) -> None:
    studio.artifacts.put("jobs/local/x/input.txt", b"")
    draft = tmp_path / "store" / "tmp" / "0123"
    draft.write_bytes(b"half")
    age(draft.parent, by_s=7200)

    janitor.sweep_temporary()

    assert not draft.exists()


def test_a_failing_chore_does_not_stop_the_others(
    studio: Studio, janitor: Janitor, state: StateWatch, hooks: HookJanitor
) -> None:
    stop = threading.Event()
    studio.submit()
    asked: list[float] = []

    def lock() -> bool:
        asked.append(time.monotonic())
        if len(asked) == 1:
            raise StoreUnavailable("for a moment")
        return True

    chores = chores_of(janitor, state, hooks)
    thread = threading.Thread(target=run_chores, args=(chores, Leadership(lock, janitor).renew, stop))
    thread.start()
    give_up = time.monotonic() + 30
    while studio.services.worker.tickets.waiting(CPU_QUEUE) == 0 and time.monotonic() < give_up:
        time.sleep(0.02)
    stop.set()
    thread.join(30)

    assert studio.services.worker.tickets.waiting(CPU_QUEUE) == 1


def test_a_store_that_does_not_answer_holds_up_nothing_that_needs_none(
    studio: Studio,
    janitor: Janitor,
    state: StateWatch,
    voices: VoiceJanitor,
    hooks: HookJanitor,
) -> None:
    """However long the removal of something takes."""
    stop, silent, asked = threading.Event(), threading.Event(), threading.Event()

    def removes_nothing() -> None:
        asked.set()
        silent.wait()
        raise StoreUnavailable("at last")

    leadership = Leadership(lambda: True, janitor)
    removals = (Chore(1.0, removes_nothing), *removals_of(janitor, voices))
    rounds = ((removals, leadership.is_held), (chores_of(janitor, state, hooks), leadership.renew))
    threads = [threading.Thread(target=run_chores, args=(*chores, stop)) for chores in rounds]
    for thread in threads:
        thread.start()
    assert asked.wait(30)
    studio.submit()
    give_up = time.monotonic() + 30
    while studio.services.worker.tickets.waiting(CPU_QUEUE) == 0 and time.monotonic() < give_up:
        time.sleep(0.02)
    assert studio.services.worker.tickets.waiting(CPU_QUEUE) == 1
    stop.set()
    silent.set()
    for thread in threads:
        thread.join(30)


def test_without_the_lock_nothing_is_done(
    studio: Studio, janitor: Janitor, state: StateWatch, hooks: HookJanitor
) -> None:
    stop = threading.Event()
    studio.submit()
    chores = chores_of(janitor, state, hooks)
    thread = threading.Thread(target=run_chores, args=(chores, lambda: False, stop))

    thread.start()
    time.sleep(0.5)
    stop.set()
    thread.join(30)

    assert studio.services.worker.tickets.waiting(CPU_QUEUE) == 0


def test_a_batch_whose_api_died_after_the_cancel_is_cancelled_to_its_last_job(studio: Studio, janitor: Janitor) -> None:
    num_lines, far_away_ms = 2 * RECALL_STEP + 1, 4_000_000_000_000
    kept, cancelled = (put_batch(studio, num_lines, far_away_ms) for _ in range(2))
    studio.drain()
    assert studio.jobs.cancel(TENANT, cancelled.id).job.state is JobState.CANCELLING

    janitor.recall_batches()

    assert studio.record(cancelled).state is JobState.CANCELLED
    assert studio.record(cancelled).children.cancelled == num_lines
    assert {record.state for record in jobs_of(studio, cancelled)} == {JobState.CANCELLED}
    assert {record.state for record in jobs_of(studio, kept)} == {JobState.PENDING}
    assert studio.jobs.batches_to_recall() == []
    assert studio.jobs.audit_counters() == ()
