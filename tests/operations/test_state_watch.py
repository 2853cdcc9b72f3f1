"""A Redis that lost something, before a real Valkey and a real store: who notices, what comes back, and what waits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from rhapsode.contract.jobs.states import JobState
from storage.database.keys import RedisKeys
from storage.database.redis_errors import StateRedis
from storage.errors import ArtifactCorrupt, LeaseLost
from storage.ids import drawn_at_ms
from storage.job_store.store import JobStore
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.objects.keys import state_marks
from storage.objects.local_store import LocalArtifactStore
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.recovery.journal import Journal
from storage.recovery.reconcile import Reconciler
from storage.recovery.state_guard import StateFinding, StateGuard
from storage.runtime.config.settings import StorageSettings
from tests.storage.job_store.job_driver import ALICE, GPU_QUEUE, LEASE_S, WORKER, claim, report, start_job, submission
from worker.items.leases.keeper import DropReason, LeaseKeeper
from worker.process.state_watch import STRANGE, StateWatch, hold_what_lost_something

KEYS = RedisKeys("rhapsode")


class System:
    """What an API, a janitor and a worker do with one Redis and one store."""

    def __init__(self, client: redis.Redis, store: LocalArtifactStore, tickets: TicketQueue) -> None:
        self.client = client
        self.store = store
        self.jobs = JobStore(client)
        self.guard = StateGuard(client, store, "rhapsode")
        self.tickets = tickets
        self.restart_janitor()

    def start_worker(self) -> None:
        """As far as it asks for this state."""
        assert isinstance(self.client, StateRedis)
        hold_what_lost_something(self.client, self.store, "rhapsode")

    def restart_janitor(self) -> None:
        reconciler = Reconciler(self.client, self.store)
        guard = StateGuard(self.client, self.store, "rhapsode")
        self.watch = StateWatch(guard, reconciler, self.tickets)

    def accept(self, idempotency: IdempotencyKey | None = None) -> Submission:
        """As the API: input, record, journal."""
        accepted = submission(idempotency=idempotency)
        self.store.put(accepted.input_key, b"A text.")
        self.jobs.submit(accepted)
        journal = Journal(self.store, "rhapsode")
        journal.add(accepted)
        journal.close()
        return accepted

    def claims(self) -> bool:
        return self.jobs.claim(CPU_QUEUE, WORKER, 30).item is not None

    def knows(self, job: Submission) -> bool:
        return bool(self.client.exists(KEYS.of("job", job.id)))

    def marks(self) -> list[str]:
        return [entry.key for entry in self.store.list(state_marks("rhapsode"))]

    def dump(self) -> dict[bytes, bytes]:
        """A backup: every key as the server serialises it."""
        backup: dict[bytes, bytes] = {}
        with raw(self.client) as client:
            for key in client.scan_iter():
                value = client.dump(key)
                assert value is not None, key
                backup[key] = value
        return backup

    def put_back(self, backup: dict[bytes, bytes]) -> None:
        with raw(self.client) as client:
            client.flushdb()
            for key, value in backup.items():
                client.restore(key, 0, value)


def raw(client: redis.Redis) -> redis.Redis:
    """The same server, without texts."""
    options: dict[str, Any] = {**client.get_connection_kwargs(), "decode_responses": False}
    return redis.Redis(connection_pool=redis.ConnectionPool(client.connection_pool.connection_class, **options))


@pytest.fixture
def system(
    redis_client: redis.Redis, local_store: LocalArtifactStore, storage_settings: StorageSettings
) -> Iterator[System]:
    tickets = TicketQueue(create_celery(storage_settings, "tests"))
    yield System(redis_client, local_store, tickets)
    tickets.close()


def test_a_system_that_lost_nothing_goes_on_and_counts_only_when_something_happened(system: System) -> None:
    assert system.guard.look() is StateFinding.NEW
    system.watch.watch_state()
    first = system.marks()
    system.watch.watch_state()
    assert system.marks() == first

    system.accept()
    system.watch.watch_state()

    assert len(system.marks()) == 1
    assert system.marks() > first
    assert system.guard.look() is StateFinding.WHOLE
    assert system.claims()


def test_an_older_copy_is_reconciled_by_the_janitor_alone_before_anything_is_claimed(system: System) -> None:
    old = system.accept()
    system.watch.watch_state()
    backup = system.dump()
    lost = system.accept(IdempotencyKey("key", "f" * 64))
    claimed = system.jobs.claim(CPU_QUEUE, WORKER, 30).item
    assert claimed is not None
    system.watch.watch_state()

    system.put_back(backup)
    system.start_worker()
    assert not system.claims(), "a worker that started first held them"
    system.restart_janitor()
    system.watch.watch_state()

    assert system.knows(old)
    assert system.knows(lost)
    item = system.jobs.claim(CPU_QUEUE, WORKER, 30).item
    assert item is not None
    assert item.recovered
    assert item.lease.fence > claimed.lease.fence
    assert system.guard.look() is StateFinding.WHOLE
    assert system.jobs.audit_counters() == ()
    assert system.jobs.submit(lost).job.id == lost.id


def test_fences_of_an_earlier_return_to_the_same_backup_are_not_given_out_again(system: System) -> None:
    system.accept()
    system.watch.watch_state()
    backup = system.dump()
    fences: list[int] = []

    for _ in range(3):
        system.put_back(backup)
        Reconciler(system.client, system.store).step(None)
        item = system.jobs.claim(CPU_QUEUE, WORKER, 30).item
        assert item is not None
        fences.append(item.lease.fence)

    assert fences == sorted(set(fences))


def test_a_claim_that_the_server_forgot_is_given_again_under_another_fence(system: System) -> None:
    """A server that was killed lacks its last second, and workers claim before the janitor looks."""
    job = start_job(system.jobs, 1)
    backup = system.dump()
    forgotten = claim(system.jobs, GPU_QUEUE).lease
    keeper = LeaseKeeper(system.jobs, LEASE_S)

    with keeper.hold(forgotten) as older:
        system.put_back(backup)
        again = claim(system.jobs, GPU_QUEUE).lease
        with keeper.hold(again) as newer:
            keeper.extend_now()
            with pytest.raises(LeaseLost):
                system.jobs.commit_segment(forgotten, report("one"))
            system.jobs.commit_segment(again, report("two"))

    assert (again.job, again.item) == (forgotten.job, forgotten.item)
    assert (older.dropped, newer.dropped) == (DropReason.LOST, None)
    assert keys.segment(ALICE, job.id, 0, again.fence) != keys.segment(ALICE, job.id, 0, forgotten.fence)
    assert [each.fence for each in system.jobs.segment_results(ALICE, job.id)] == [again.fence]


def test_a_job_of_the_last_moment_comes_back_although_the_count_agrees(system: System) -> None:
    """The server's file ended before the job and after the count."""
    system.watch.watch_state()
    backup = system.dump()
    lost = system.accept()

    system.put_back(backup)
    assert system.guard.look() is StateFinding.WHOLE
    system.restart_janitor()
    system.watch.watch_state()

    assert system.knows(lost)
    assert system.claims()


@pytest.mark.parametrize("has_looked", [False, True], ids=["janitor started", "janitor that has looked"])
def test_a_worker_that_starts_first_claims_nothing_while_the_last_moment_is_missing(
    system: System, has_looked: bool
) -> None:
    """The count agrees. What was spoken since the backup lies in the store, and must not be spoken again."""
    system.accept()
    system.watch.watch_state()
    backup = system.dump()
    system.accept()
    spoken = system.jobs.claim(CPU_QUEUE, WORKER, 30).item
    assert spoken is not None
    if not has_looked:
        system.restart_janitor()

    system.put_back(backup)
    assert system.guard.look() is StateFinding.WHOLE
    system.start_worker()
    assert not system.claims()
    system.watch.watch_state()

    item = system.jobs.claim(CPU_QUEUE, WORKER, 30).item
    assert item is not None
    assert (item.lease.job, item.recovered) == (spoken.lease.job, True)
    assert system.guard.held() is None


def test_a_worker_that_starts_on_a_whole_state_holds_nothing(system: System) -> None:
    system.start_worker()
    system.accept()
    system.watch.watch_state()
    system.accept()

    system.start_worker()

    assert system.claims()


def test_an_empty_redis_waits_for_an_operator_and_then_has_every_job_again(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [system.accept() for _ in range(3)]
    system.watch.watch_state()
    system.client.flushdb()
    newer = system.accept()

    with caplog.at_level(logging.ERROR):
        system.watch.watch_state()
        system.watch.watch_state()

    assert caplog.messages == ["nothing is claimed"], "once"
    assert system.guard.held() == STRANGE
    assert not system.claims()
    assert not any(system.knows(job) for job in jobs), "nothing is brought back unasked"

    step = Reconciler(system.client, system.store).step(None)

    assert (step.jobs_seen, step.jobs_restored, step.next_cursor) == (4, 3, None)
    assert all(system.jobs.get(ALICE, job.id).state is JobState.PENDING for job in (*jobs, newer))
    restored = [system.jobs.get(ALICE, job.id) for job in jobs]
    assert [job.created_at_ms for job in restored] == [drawn_at_ms(job.id) for job in restored]
    assert system.guard.held() is None
    assert system.claims()
    system.watch.watch_state()
    assert system.guard.look() is StateFinding.WHOLE


def test_another_redis_on_the_same_store_claims_nothing(system: System, second_redis: redis.Redis) -> None:
    job = system.accept()
    system.watch.watch_state()
    other = System(second_redis, system.store, system.tickets)
    second_redis.hset(KEYS.single("mark"), mapping={"state": "another", "position": 7_000})

    other.watch.watch_state()

    assert other.guard.held() == STRANGE
    assert not other.knows(job)
    assert system.guard.look() is StateFinding.WHOLE
    Reconciler(second_redis, system.store).step(None)
    assert other.knows(job)
    assert system.guard.look() is StateFinding.STRANGE, "the store belongs to one of them"


def test_limits_do_not_keep_out_what_was_accepted_before(system: System) -> None:
    jobs = [system.accept() for _ in range(3)]
    system.client.flushdb()
    system.client.hset(RedisKeys("rhapsode").of("quotas", ALICE), "jobs", 1)

    step = Reconciler(system.client, system.store).step(None)

    assert step.jobs_restored == len(jobs)


def test_a_job_whose_client_asked_again_meanwhile_is_known_all_the_same(system: System) -> None:
    key = IdempotencyKey("key", "f" * 64)
    lost = system.accept(key)
    system.client.flushdb()
    again = system.accept(key)

    Reconciler(system.client, system.store).step(None)

    assert system.knows(lost)
    assert system.knows(again)
    assert system.jobs.find_response(ALICE, key) == again.id


def test_a_count_in_the_store_that_is_none_is_named(system: System) -> None:
    system.store.put(f"{state_marks('rhapsode')}7", b"")

    with pytest.raises(ArtifactCorrupt, match="state/rhapsode/7 is no count"):
        system.watch.watch_state()


@pytest.fixture
def second_redis(redis_client: redis.Redis) -> Iterator[redis.Redis]:
    options: dict[str, Any] = {**redis_client.get_connection_kwargs(), "db": 9}
    pool = redis.ConnectionPool(redis_client.connection_pool.connection_class, **options)
    with redis.Redis(connection_pool=pool) as client:
        client.flushdb()
        yield client
        client.flushdb()
