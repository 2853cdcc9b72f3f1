"""Following jobs over one connection, on a real server: what it costs, what leaves with it, and servers that go."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError

from storage.database.connections import connect_redis, connect_redis_async
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.schema_version import StateUnusable, agree_on_layout
from storage.ids import JobId
from storage.job_store.following.event import LoggedEvent
from storage.job_store.following.feeds import EventFeeds, open_event_feeds
from storage.job_store.following.reads import PAGE
from storage.job_store.following.subscription import EventSubscription
from storage.job_store.store import JobStore
from storage.jobs.work_queues import CPU_QUEUE
from storage.runtime.config.settings import StorageSettings
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import (
    ALICE,
    GPU_QUEUE,
    artifact,
    claim,
    finish_segments,
    open_store,
    report,
    start_job,
    submission,
)

PATIENCE_S = 60.0


def run(settings: StorageSettings, story: Callable[[EventFeeds], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with connect_redis_async(settings) as client, open_event_feeds(client) as feeds:
            await asyncio.wait_for(story(feeds), PATIENCE_S)

    asyncio.run(opened())


async def hear(feeds: EventFeeds, job_id: JobId, last: str, seen: list[LoggedEvent] | None = None) -> list[LoggedEvent]:
    """The job's events up to one of the type `last`."""
    seen = [] if seen is None else seen
    with feeds.following(job_id) as follower:
        while not seen or seen[-1].type != last:
            events = await follower.events(seen[-1].id if seen else "0")
            if events:
                seen += events
            else:
                await follower.wait(PATIENCE_S)
    return seen


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def num_channels(client: redis.Redis) -> int:
    return len(client.pubsub_channels())


def test_what_is_there_comes_first_and_then_what_happens(
    store: JobStore, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    job = start_job(store, 2)

    async def story(feeds: EventFeeds) -> None:
        seen: list[LoggedEvent] = []
        hearing = asyncio.create_task(hear(feeds, job.id, "job.succeeded", seen))
        await until(lambda: len(seen) == 2)
        await asyncio.to_thread(finish_segments, store, 2)
        await asyncio.to_thread(store.finish, claim(store, CPU_QUEUE).lease, [artifact()])

        assert await hearing == EventLog(redis_client).read(job.id)

    run(storage_settings, story)


def test_a_long_log_is_read_in_pages(
    store: JobStore, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    job = start_job(store, PAGE + 50)
    finish_segments(store, PAGE + 50)

    async def story(feeds: EventFeeds) -> None:
        pages: list[list[LoggedEvent]] = []
        with feeds.following(job.id) as follower:
            while not pages or pages[-1]:
                page = await follower.events(pages[-1][-1].id if pages else "0")
                if page is None:
                    await follower.wait(PATIENCE_S)
                else:
                    pages.append(page)
        assert [len(page) <= PAGE for page in pages] == [True] * len(pages)
        assert [event for page in pages for event in page] == EventLog(redis_client).read(job.id)

    run(storage_settings, story)


def test_a_thousand_jobs_are_followed_over_one_connection_which_forgets_them_with_their_followers(
    store: JobStore, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    jobs = [store.submit(submission(audio_ms=1_000)).job.id for _ in range(1_000)]
    before = len(redis_client.client_list())

    async def story(feeds: EventFeeds) -> None:
        # Three listeners of each.
        hearing = [asyncio.create_task(hear(feeds, job, "job.cancelled")) for job in jobs * 3]
        await until(lambda: num_channels(redis_client) == 1_000)

        # The one that listens, and the one that reads.
        assert len(redis_client.client_list()) <= before + 2
        for job in jobs:
            await asyncio.to_thread(store.cancel, ALICE, job)
        told = await asyncio.gather(*hearing)
        await until(lambda: num_channels(redis_client) == 0)

        assert {tuple(event.type for event in events) for events in told} == {("job.created", "job.cancelled")}

    run(storage_settings, story)


def test_followers_ask_nothing_while_nothing_happens_and_go_on_where_they_were_after_a_kill(short_dir: Path) -> None:
    server = EmbeddedRedis(short_dir / "followed")
    server.start()
    settings = StorageSettings(redis_url=SecretStr(server.url), store="s3://bucket")

    async def story(feeds: EventFeeds) -> None:
        with connect_redis(settings) as client:
            store = open_store(client)
            jobs = [start_job(store, 1).id for _ in range(20)]
            seen: dict[JobId, list[LoggedEvent]] = {job: [] for job in jobs}
            hearing = [asyncio.create_task(hear(feeds, job, "job.cancelled", seen[job])) for job in jobs]
            await until(lambda: all(len(each) == 2 for each in seen.values()))
            before = client.info("stats")["total_commands_processed"]
            await asyncio.sleep(1)
            # These two questions, and signs of life.
            assert client.info("stats")["total_commands_processed"] - before <= 5
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(server.start)
            # Before it is subscribed again, and behind that.
            store.commit_segment(claim(store, GPU_QUEUE).lease, report())
            for job in jobs:
                await asyncio.to_thread(store.cancel, ALICE, job)
                await asyncio.sleep(0.05)
            told = await asyncio.gather(*hearing)
            assert told == [EventLog(client).read(job) for job in jobs]

    run(settings, story)
    server.stop()


def test_a_user_of_an_acl_needs_its_channels_and_no_others(
    valkey: EmbeddedRedis, redis_client: redis.Redis, store: JobStore
) -> None:
    job = store.submit(submission()).job
    rules = ["on", ">secret", "allkeys", "+@all", "resetchannels", "&{rhapsode}:*"]
    redis_client.execute_command("ACL", "SETUSER", "narrow", *rules)
    address = valkey.url.partition("@")[2]
    settings = StorageSettings(redis_url=SecretStr(f"unix://narrow:secret@{address}"), store="s3://bucket")

    async def story(feeds: EventFeeds) -> None:
        hearing = asyncio.create_task(hear(feeds, job.id, "job.cancelled"))
        await until(lambda: num_channels(redis_client) == 1)
        with connect_redis(settings) as client:
            agree_on_layout(client, "rhapsode")
            await asyncio.to_thread(open_store(client).cancel, ALICE, job.id)
        await hearing

    try:
        run(settings, story)
        redis_client.execute_command("ACL", "SETUSER", "narrow", "resetchannels")
        with connect_redis(settings) as client, pytest.raises(StateUnusable, match=r"give it &\{rhapsode\}:\*"):
            agree_on_layout(client, "rhapsode")
    finally:
        redis_client.execute_command("ACL", "DELUSER", "narrow")


def test_a_follower_that_is_woken_looks_again_also_before_it_waits(
    store: JobStore, storage_settings: StorageSettings
) -> None:
    job = store.submit(submission()).job

    async def story(feeds: EventFeeds) -> None:
        with feeds.following(job.id) as follower:
            feeds.stop()
            assert feeds.is_stopping
            assert await follower.wait(PATIENCE_S)

    run(storage_settings, story)


@pytest.mark.parametrize("after", ["", "$", "abc", "1-2-3", "1 2", "-1", "9" * 30])
def test_what_is_no_event_id_is_refused(storage_settings: StorageSettings, after: str) -> None:
    async def story(feeds: EventFeeds) -> None:
        with pytest.raises(ValueError, match="event id"):
            await feeds.reads.begins_behind(JobId("job_none"), after)

    run(storage_settings, story)


def test_a_connection_that_is_closed_before_a_command_is_sent_is_lost(storage_settings: StorageSettings) -> None:
    async def story() -> None:
        async with connect_redis_async(storage_settings) as client:
            connection = await client.connection_pool.get_connection()
            await connection.disconnect(nowait=True)
            # `send_packed_command` has looked at this before; its sending may be a task that comes later.
            with pytest.raises(RedisConnectionError):
                await connection._send_packed_command([b"PING\r\n"])  # pyright: ignore[reportPrivateUsage] - as a task calls it
            await client.connection_pool.release(connection)

    asyncio.run(story())


def test_an_unexpected_error_does_not_end_the_telling(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read, calls = EventSubscription._read, list[int]()  # pyright: ignore[reportPrivateUsage] - the step that fails

    async def fails_once(self: EventSubscription, connection: AbstractConnection) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise AttributeError("unforeseen")
        await read(self, connection)

    monkeypatch.setattr(EventSubscription, "_read", fails_once)

    async def story(feeds: EventFeeds) -> None:
        with feeds.following(JobId("job_a")) as follower:
            while await follower.events("0") is None:
                assert await follower.wait(PATIENCE_S), "nothing is told"

    run(storage_settings, story)

    assert "AttributeError: unforeseen" in caplog.text
