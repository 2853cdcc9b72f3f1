"""Calls of the library: what travels is what arrives, and nothing of one call is left in the next."""

from __future__ import annotations

import pytest
import redis
from redis.exceptions import ResponseError

from storage.database.functions import Functions
from storage.database.keys import RedisKeys
from storage.database.library import library
from storage.errors import StoreUnavailable
from storage.job_store.store import JobStore
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.worker_slots import WorkerSlots
from tests.storage.job_store.job_driver import (
    ALICE,
    EPOCH_MS,
    GPU_QUEUE,
    LEASE_S,
    TEST_CLOCK,
    WORKER,
    Clock,
    claim,
    open_store,
    report,
    start_job,
    submission,
)

ODD = 'quote " backslash \\ slash / nul \0 unit \x1f del \x7f line \u2028 häß 語 🙂 null {} []'


def test_words_arrive_as_they_were_said(redis_client: redis.Redis) -> None:
    store = open_store(redis_client)

    job = store.submit(submission(metadata={ODD: ODD, "empty": ""})).job

    assert job.metadata == {ODD: ODD, "empty": ""}
    assert store.get(ALICE, job.id).metadata == job.metadata


def test_half_a_character_is_refused_before_it_is_sent(redis_client: redis.Redis) -> None:
    with pytest.raises(UnicodeEncodeError):
        Functions(redis_client, "rhapsode").call("worker_slots", queue="\ud800")


def test_fences_keep_every_digit(redis_client: redis.Redis) -> None:
    """Lua writes a number with fourteen of them."""
    store = open_store(redis_client)
    start_job(store, 2)
    fence = 2**53 - 5
    redis_client.set(RedisKeys("rhapsode").single("fence"), fence - 1 - EPOCH_MS * 1000)

    lease = claim(store, GPU_QUEUE).lease
    store.extend([lease], LEASE_S)
    store.commit_segment(lease, report())

    assert lease.fence == fence
    assert [each.fence for each in store.segment_results(ALICE, lease.job)] == [fence]


def test_lists_and_hashes_without_anything_in_them(redis_client: redis.Redis) -> None:
    functions = Functions(redis_client, "rhapsode")

    reply = functions.call("retentions", limit=5)
    assert (reply.texts("entries"), reply.counts("tickets")) == ([], {})
    assert functions.call("extend", lease_ms=5, leases=[]).texts("leases") == []
    assert functions.call("counter_audit", epoch="e", cursor="", limit=5, mends=False).rows("drift") == []


def test_one_library_serves_every_prefix(redis_client: redis.Redis) -> None:
    one, other = JobStore(redis_client, "one"), JobStore(redis_client, "other")

    first = one.submit(submission()).job
    second = other.submit(submission()).job

    assert one.claim(CPU_QUEUE, WORKER, LEASE_S).item is not None
    assert other.get(ALICE, second.id).id == second.id
    assert {key.split(":")[0] for key in redis_client.scan_iter("{one}*")} == {"{one}"}
    assert not redis_client.exists(RedisKeys("other").of("job", first.id))


def test_nothing_of_a_call_is_left_in_the_next(redis_client: redis.Redis) -> None:
    Clock()
    told = open_store(redis_client).submit(submission())
    assert told.job.created_at_ms == EPOCH_MS
    assert told.tickets == Tickets({CPU_QUEUE: 1})

    before_ms = server_ms(redis_client)
    own = JobStore(redis_client)
    assert own.extend([claim(own, CPU_QUEUE).lease], LEASE_S)
    assert own.reap().tickets == Tickets()
    created_at_ms = own.submit(submission()).job.created_at_ms

    assert before_ms <= created_at_ms <= server_ms(redis_client)


def server_ms(client: redis.Redis) -> int:
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def test_two_releases_run_side_by_side(redis_client: redis.Redis) -> None:
    slots = WorkerSlots(redis_client)
    slots.announce(GPU_QUEUE, "w", 3)
    mine, other = library().name, "rhapsode_4_00000000"
    redis_client.function_load(library().text.replace(mine, other), replace=True)

    answer = redis_client.fcall(f"{other}_worker_slots", 1, RedisKeys("rhapsode").root, f'{{"queue":"{GPU_QUEUE}"}}')

    assert '"slots":3' in str(answer)
    assert slots.slots(GPU_QUEUE) == 3
    redis_client.function_delete(other)


def test_a_server_that_was_emptied_is_given_the_library_again(redis_client: redis.Redis) -> None:
    slots = WorkerSlots(redis_client)
    for flush in (redis_client.function_flush, redis_client.flushall):
        flush()
        slots.announce(GPU_QUEUE, "w", 2)

        assert slots.slots(GPU_QUEUE) == 2


def test_another_error_is_no_reason_to_load_it(redis_client: redis.Redis) -> None:
    functions = Functions(redis_client, "rhapsode", TEST_CLOCK)
    redis_client.set(RedisKeys("rhapsode").single("worker_registry"), "no hash")

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        functions.call("report", worker="Function not found", report="{}", forgotten_ms=1)


def test_a_full_server_answers_what_writes_nothing(redis_client: redis.Redis) -> None:
    store, slots = JobStore(redis_client), WorkerSlots(redis_client)
    slots.announce(GPU_QUEUE, "w", 2)
    redis_client.config_set("maxmemory", 1)
    try:
        assert slots.slots(GPU_QUEUE) == 2
        assert store.expired_retentions() == []
        with pytest.raises(StoreUnavailable, match="maxmemory"):
            store.submit(submission())
    finally:
        redis_client.config_set("maxmemory", 0)
