"""Streams opened, placed, resumed and ended, over real connections to workers that do as a test says."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from api.http.problems.problem import HttpProblem
from api.live import stream as stream_module
from api.live.errors import LiveBroken
from api.live.speech import TICK_S, LiveSpeech
from api.live.stream import HeardStream
from storage.database.connections import connect_redis
from storage.database.embedded_valkey import EmbeddedRedis
from storage.errors import QuotaExceeded
from storage.ids import TenantId
from storage.live.messages import OpenRefused
from storage.live.orders import LiveOrder
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.settings import StorageSettings
from storage.tenants.usage import UsageLedger, total
from tests.api.live.conftest import PATIENCE, Opener, opened_door
from tests.api.live.scripted_worker import ScriptedWorker, expected, order

ANN, BEN = TenantId("ann"), TenantId("ben")
TEXT = "A stream is heard while it is made, and its state is its codes."


async def hear(live: LiveSpeech, wanted: LiveOrder) -> bytes:
    async with await live.open(ANN, wanted) as stream:
        return b"".join([chunk.pcm async for chunk in stream.chunks()])


def test_a_stream_is_heard_to_its_end(live_door: Opener) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one")
        async with live_door(worker) as live, await live.open(ANN, order(TEXT)) as stream:
            assert (stream.worker, stream.model, stream.sample_rate_hz) == ("one", "fake", 24_000)
            heard = b"".join([chunk.pcm async for chunk in stream.chunks()])
            assert heard == expected(TEXT)
            assert stream.num_chars == len(TEXT)
            assert stream.audio_s == len(heard) / 2 / 24_000
            assert stream.ttfa_s is not None
            # What the listener has taken is told while the next message is on its way.
            async with asyncio.timeout(30):
                while not worker.consumed:
                    await asyncio.sleep(0.01)

    asyncio.run(listen())


def test_an_open_text_is_extended(live_door: Opener) -> None:
    async def listen() -> None:
        async with (
            live_door(ScriptedWorker("one")) as live,
            await live.open(ANN, order("", text_is_open=True)) as stream,
        ):
            for word in ("One ", "two "):
                await stream.extend(word, is_last=False)
            await stream.extend("three.", is_last=True)
            with pytest.raises(ValueError, match="complete"):
                await stream.extend("four", is_last=True)
            heard = b"".join([chunk.pcm async for chunk in stream.chunks()])
            assert heard == expected("One two three.")

    asyncio.run(listen())


@pytest.mark.parametrize("fault", ["kill", "stop", "failed"])
def test_another_worker_goes_on_where_one_was_lost(live_door: Opener, fault: str) -> None:
    async def listen() -> None:
        workers = [ScriptedWorker(name, frame_s=0.02) for name in ("one", "two")]
        async with live_door(*workers) as live, await live.open(ANN, order(TEXT)) as stream:
            first = next(each for each in workers if each.name == stream.worker)
            heard = b""
            async for chunk in stream.chunks():
                heard += chunk.pcm
                if len(heard) == 5 * 3840:
                    {"kill": first.kill, "stop": first.stop, "failed": lambda: None}[fault]()
                    if fault == "failed":
                        first.fails_at = 7
            assert heard == expected(TEXT)
            assert stream.num_places == 2
            assert stream.worker != first.name
            (resumed,) = next(each for each in workers if each.name == stream.worker).opened
            assert resumed.resume is not None
            assert resumed.resume.num_samples_heard >= 5 * 1920

    asyncio.run(listen())


def test_extensions_go_along_to_another_worker(live_door: Opener) -> None:
    async def listen() -> None:
        workers = [ScriptedWorker(name) for name in ("one", "two")]
        async with live_door(*workers) as live, await live.open(ANN, order("One ", text_is_open=True)) as stream:
            await stream.extend("two ", is_last=False)
            await asyncio.sleep(0.05)
            next(each for each in workers if each.name == stream.worker).kill()
            await stream.extend("three.", is_last=True)
            heard = b"".join([chunk.pcm async for chunk in stream.chunks()])
            assert heard == expected("One two three.")

    asyncio.run(listen())


def test_who_would_run_dry_first_goes_on_first(live_door: Opener) -> None:
    async def listen() -> None:
        first, second = ScriptedWorker("one", frame_s=0.001), ScriptedWorker("two", slots=0)
        async with live_door(first, second) as live:
            ahead = await live.open(ANN, order(TEXT * 5))
            chunks = ahead.chunks()
            for _ in range(100):
                await anext(chunks)
            first.frame_s = 3600.0
            begun = await live.open(ANN, order(TEXT))
            assert {ahead.worker, begun.worker} == {"one"}
            second.slots = 8
            first.kill()
            await asyncio.gather(hear_on(ahead), hear_on(begun))
            assert [head.stream.rpartition("-")[0] for head in second.opened] == [begun.id, ahead.id]

    asyncio.run(listen())


async def hear_on(stream: HeardStream) -> None:
    async for _ in stream.chunks():
        pass
    assert stream.outcome == "done"


def test_a_worker_of_another_revision_does_not_go_on(live_door: Opener) -> None:
    async def listen() -> None:
        first, other = ScriptedWorker("one", frame_s=0.02), ScriptedWorker("two", revision="later", slots=1)
        async with live_door(first, other, patience=replace(PATIENCE, resume_s=0.3)) as live:
            filling = await live.open(ANN, order(TEXT))
            stream = await live.open(ANN, order(TEXT))
            both = {filling.worker: filling, stream.worker: stream}
            first.fails_at, first.failure = 3, "worker_leaving"
            first.slots = 0
            with pytest.raises(LiveBroken) as broken:
                async for _ in both["one"].chunks():
                    pass
            assert broken.value.code == "worker_lost"
            assert other.opened[-1].resume is None
            filling.cancel()
            stream.cancel()

    asyncio.run(listen())


def test_full_is_said_at_once(live_door: Opener) -> None:
    async def listen() -> None:
        workers = [ScriptedWorker(name, slots=1, frame_s=10) for name in ("one", "two")]
        async with live_door(*workers) as live:
            streams = [await live.open(ANN, order(TEXT)) for _ in workers]
            assert {each.worker for each in streams} == {"one", "two"}
            with pytest.raises(HttpProblem) as refused:
                await live.open(ANN, order(TEXT))
            assert (refused.value.status, refused.value.code) == (429, "live_full")
            assert refused.value.headers["Retry-After"] == "1"
            streams[0].cancel()
            async with asyncio.timeout(30):
                while True:
                    try:
                        streams.append(await live.open(BEN, order(TEXT)))
                        break
                    except HttpProblem:
                        await asyncio.sleep(0.01)
            assert streams[-1].worker == streams[0].worker

    asyncio.run(listen())


def test_a_tenant_that_has_its_share_leaves_the_last_place_to_one_that_waits(live_door: Opener) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one", slots=2, frame_s=10)
        async with live_door(worker) as live:
            first, second = [await live.open(ANN, order(TEXT)) for _ in range(2)]
            with pytest.raises(HttpProblem):
                await live.open(BEN, order(TEXT))
            first.cancel()
            # Whoever comes first: what is free is of the one who was refused.
            async with asyncio.timeout(30):
                while len(worker.speaking) == worker.slots:
                    await asyncio.sleep(0.01)
            with pytest.raises(HttpProblem) as refused:
                await live.open(ANN, order(TEXT))
            assert refused.value.code == "live_full"
            async with asyncio.timeout(30):
                other = await _opened_at_last(live, BEN)
            assert other.worker == "one"
            second.cancel()
            assert (await _opened_at_last(live, ANN)).worker == "one"

    asyncio.run(listen())


async def _opened_at_last(live: LiveSpeech, tenant: TenantId) -> HeardStream:
    while True:
        try:
            return await live.open(tenant, order(TEXT))
        except HttpProblem:
            await asyncio.sleep(0.01)


def test_what_a_worker_refuses_is_a_problem(live_door: Opener) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one", refusal=OpenRefused(stream="x", code="voice_not_found", detail="no such voice"))
        async with live_door(worker) as live:
            with pytest.raises(HttpProblem) as refused:
                await live.open(ANN, order(TEXT))
            assert (refused.value.status, refused.value.code) == (404, "voice_not_found")
            with pytest.raises(HttpProblem) as unknown:
                await live.open(ANN, order(TEXT, model="other"))
            assert (unknown.value.status, unknown.value.code) == (503, "model_not_available")

    asyncio.run(listen())


def test_a_worker_that_has_just_come_is_found(live_door: Opener, storage_settings: StorageSettings) -> None:
    """Between two looks at the registry, where a load balancer has already been told that the system is ready."""

    async def listen() -> None:
        async with live_door() as live, ScriptedWorker("one").serving() as worker:
            with pytest.raises(HttpProblem) as refused:
                await live.open(ANN, order(TEXT))
            assert (refused.value.status, refused.value.code) == (503, "model_not_available")
            with connect_redis(storage_settings) as client:
                await asyncio.to_thread(WorkerRegistry(client, storage_settings.key_prefix).report, worker.report())

            assert await hear(live, order(TEXT)) == expected(TEXT)

    asyncio.run(listen())


def test_who_goes_away_frees_the_place(live_door: Opener) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one", frame_s=0.01)
        async with live_door(worker) as live:
            async with await live.open(ANN, order(TEXT)) as stream:
                async for _ in stream.chunks():
                    break
            async with asyncio.timeout(30):
                while not worker.cancelled:
                    await asyncio.sleep(0.01)
            assert worker.cancelled == [f"{stream.id}-1"]
            assert stream.outcome == "cancelled"

    asyncio.run(listen())


def test_a_listener_who_takes_nothing_is_ended(live_door: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "LISTENER_PATIENCE_S", 0.2)

    async def listen() -> None:
        async with live_door(ScriptedWorker("one")) as live, await live.open(ANN, order(TEXT)) as stream:
            async with asyncio.timeout(60):
                while not stream.is_over or not stream.is_read:
                    await asyncio.sleep(0.05)
            with pytest.raises(LiveBroken) as broken:
                async for _ in stream.chunks():
                    pass
            assert broken.value.code == "listener_too_slow"

    asyncio.run(listen())


def test_a_listener_who_takes_far_too_long_has_what_was_made_and_the_finding(
    live_door: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "LISTENER_GRACE_S", 0.2)

    async def listen() -> None:
        worker = ScriptedWorker("one", frame_s=0.01)
        patience = replace(PATIENCE, slowest_pace=1.0)
        async with live_door(worker, patience=patience) as live, await live.open(ANN, order(TEXT * 5)) as stream:
            heard = b""
            async for chunk in stream.chunks():
                heard += chunk.pcm
                await asyncio.sleep(0 if stream.is_over else 0.5)
            assert (stream.outcome, stream.findings) == ("listener_too_slow", ("listener_too_slow",))
            assert expected(TEXT * 5).startswith(heard)
            async with asyncio.timeout(30):
                while not worker.cancelled:
                    await asyncio.sleep(0.01)

    asyncio.run(listen())


def test_a_listener_who_waits_for_an_engine_is_not_slow(live_door: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "LISTENER_GRACE_S", 0.2)

    async def listen() -> None:
        patience = replace(PATIENCE, slowest_pace=1.0)
        async with (
            live_door(ScriptedWorker("one", frame_s=0.2), patience=patience) as live,
            await live.open(ANN, order("One two.")) as stream,
        ):
            heard = b"".join([chunk.pcm async for chunk in stream.chunks()])
            assert (heard, stream.findings) == (expected("One two."), ())

    asyncio.run(listen())


def test_a_late_process_takes_nobody_more_and_serves_whom_it_has_taken(live_door: Opener) -> None:
    async def listen() -> None:
        patience = replace(PATIENCE, lateness_s=0.1)
        async with live_door(ScriptedWorker("one"), patience=patience) as live:
            async with await live.open(ANN, order("One ", text_is_open=True)) as stream:
                refused = await refused_when_full(live)
                assert (refused.status, refused.code) == (503, "server_busy")
                assert refused.headers["Retry-After"]
                await stream.extend("two.", is_last=True)
                assert b"".join([chunk.pcm async for chunk in stream.chunks()]) == expected("One two.")
            async with asyncio.timeout(60):
                while True:
                    try:
                        live.refuse_newcomers()
                    except HttpProblem:
                        await asyncio.sleep(0.1)
                    else:
                        break

    asyncio.run(listen())


async def refused_when_full(live: LiveSpeech) -> HttpProblem:
    """Keeps the loop at work, turn after turn: a loaded machine may take it from it for a while, and then it is not
    late by its own work.
    """
    async with asyncio.timeout(60):
        while True:
            worked_s = time.thread_time()
            while time.thread_time() - worked_s < 0.5:
                pass
            await asyncio.sleep(2 * TICK_S)
            try:
                live.refuse_newcomers()
            except HttpProblem as refused:
                return refused


def test_streams_count_as_unfinished_jobs_do(live_door: Opener) -> None:
    async def listen() -> None:
        async with (
            live_door(ScriptedWorker("one", frame_s=10), max_streams=1) as live,
            await live.open(ANN, order(TEXT)),
        ):
            with pytest.raises(QuotaExceeded):
                await live.open(ANN, order(TEXT))
            async with await live.open(BEN, order(TEXT)):
                pass

    asyncio.run(listen())


@pytest.mark.usefixtures("within_one_day")
def test_usage_is_counted_also_of_a_stream_that_broke(live_door: Opener, redis_client: redis.Redis) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one", frame_s=0.005)
        async with live_door(worker) as live:
            await hear(live, order(TEXT))
            worker.fails_at, worker.failure = 10, "endless"
            async with await live.open(ANN, order(TEXT), "key_1") as stream:
                with pytest.raises(LiveBroken):
                    async for _ in stream.chunks():
                        pass

    asyncio.run(listen())
    today = datetime.now(UTC).date()
    whole, broken = UsageLedger(redis_client).read(ANN, today, today)
    assert whole.key_id == ""
    assert (whole.amounts.segments, whole.amounts.characters) == (1, len(TEXT))
    assert abs(whole.amounts.audio_ms - len(expected(TEXT)) / 48) <= 1
    assert (broken.key_id, broken.amounts.segments, broken.amounts.audio_ms) == ("key_1", 1, 800)
    assert total([whole, broken]).engine_ms > 0


def test_two_processes_share_the_places_of_a_worker(live_door: Opener) -> None:
    async def listen() -> None:
        worker = ScriptedWorker("one", slots=2, frame_s=10)
        async with live_door(worker) as first, live_door() as second:
            async with await first.open(ANN, order(TEXT)), await second.open(BEN, order(TEXT)) as other:
                for live in (first, second):
                    with pytest.raises(HttpProblem) as refused:
                        await live.open(ANN, order(TEXT))
                    assert refused.value.code == "live_full"
                # Ids are each connection's own: what one process ends is its own as well.
                assert len(worker.speaking) == 2
            assert other.outcome == "cancelled"

    asyncio.run(listen())


def test_while_redis_is_away_what_runs_goes_on(storage_settings: StorageSettings, data_dir: Path) -> None:
    """The server hangs, which is worse than if it were gone."""

    async def listen(server: EmbeddedRedis) -> None:
        assert server.pid is not None
        settings = storage_settings.model_copy(update={"redis_url": SecretStr(server.url)})
        worker = ScriptedWorker("one", frame_s=0.1)
        async with opened_door(settings, worker) as live, await live.open(ANN, order(TEXT)) as stream:
            os.kill(server.pid, signal.SIGSTOP)
            try:
                heard = b""
                async for chunk in stream.chunks():
                    if not heard:
                        with pytest.raises(HttpProblem) as refused:
                            await live.open(ANN, order(TEXT))
                        assert (refused.value.status, refused.value.code) == (503, "storage_unavailable")
                    heard += chunk.pcm
                assert heard == expected(TEXT)
            finally:
                os.kill(server.pid, signal.SIGCONT)
            async with asyncio.timeout(60):
                while not await opens(live):
                    await asyncio.sleep(0.1)

    async def opens(live: LiveSpeech) -> bool:
        try:
            async with await live.open(ANN, order(TEXT)):
                return True
        except HttpProblem:
            return False

    with EmbeddedRedis(data_dir) as server:
        asyncio.run(listen(server))
