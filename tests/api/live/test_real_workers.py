"""The door and real live servers: streams whose workers leave, are killed and stopped are heard as if nothing was."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
import redis

from api.live.errors import LiveBroken
from api.live.speech import LiveSpeech
from api.live.stream import HeardStream, LiveChunk, StreamPlace
from storage.ids import TenantId
from storage.live.messages import FromWorker
from storage.objects.local_store import LocalArtifactStore
from storage.runtime.config.settings import StorageSettings
from storage.runtime.config.tls import server_context
from tests.api.live.conftest import PATIENCE, Opener, opened_door
from tests.api.live.scripted_worker import order
from tests.api.live.speaking_worker import speaking_worker
from tests.security.tls_servers import Authority
from worker.live.server import LiveBinding

ANN = TenantId("ann")
TEXT = "The first sentence is this one. Here is another, which is longer than that. A third!"


async def hear(stream: HeardStream) -> bytes:
    return b"".join([chunk.pcm async for chunk in stream.chunks()])


async def undisturbed(live: LiveSpeech, **more: object) -> bytes:
    async with await live.open(ANN, order(TEXT, **more)) as stream:
        return await hear(stream)


@pytest.mark.parametrize("text_mode", ["per_frame", "whole"])
def test_a_stream_that_is_handed_over_is_heard_as_if_it_was_not(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore, text_mode: str
) -> None:
    async def listen() -> None:
        with (
            speaking_worker(redis_client, local_store, name="one", step_s=0.005) as one,
            speaking_worker(redis_client, local_store, name="two", step_s=0.005) as two,
        ):
            async with live_door() as live:
                whole = await undisturbed(live, text_mode=text_mode)
                async with await live.open(ANN, order(TEXT, text_mode=text_mode)) as stream:
                    first = one if stream.worker == "one" else two
                    heard = b""
                    async for chunk in stream.chunks():
                        heard += chunk.pcm
                        if stream.num_places == 1 and len(heard) > len(whole) // 3:
                            await asyncio.to_thread(first.server.close)
                    assert stream.num_places == 2
                    assert heard == whole

    asyncio.run(listen())


@dataclass
class CutStreams:
    """Takes streams from their first worker behind its message number `cut_after`, as a killed worker would."""

    cut_after: int = 0
    num_messages: int = 0

    def patched(self, take: Callable[..., None]) -> Callable[..., None]:
        def take_and_cut(stream: HeardStream, place: StreamPlace, head: FromWorker, payload: bytes) -> None:
            take(stream, place, head, payload)
            if stream.num_places == 1 and stream.place is place:
                self.num_messages += 1
                if self.num_messages == self.cut_after:
                    place.lose()

        return take_and_cut


@pytest.mark.parametrize(
    "order_of", [{"reproducibility": "strict"}, {"text_mode": "whole"}, {"text_mode": "per_frame"}]
)
def test_a_stream_is_resumed_behind_any_message_of_its_worker(
    live_door: Opener,
    redis_client: redis.Redis,
    local_store: LocalArtifactStore,
    monkeypatch: pytest.MonkeyPatch,
    order_of: dict[str, str],
) -> None:
    cuts = CutStreams()
    monkeypatch.setattr(HeardStream, "take", cuts.patched(HeardStream.take))
    worker = partial(speaking_worker, redis_client, local_store)

    async def listen() -> None:
        with worker(name="one"), worker(name="two"):
            async with live_door() as live:
                whole = await chunks_of(live, **order_of)
                for cut_after in range(1, cuts.num_messages + 1):
                    cuts.cut_after, cuts.num_messages = cut_after, 0
                    resumed = await chunks_of(live, **order_of)
                    assert speech_in(resumed) == speech_in(whole), cut_after
                    if "reproducibility" in order_of:
                        assert b"".join(chunk.pcm for chunk in resumed) == b"".join(chunk.pcm for chunk in whole)

    asyncio.run(listen())


async def chunks_of(live: LiveSpeech, **more: object) -> list[LiveChunk]:
    async with await live.open(ANN, order(TEXT, **more)) as stream:
        chunks = [chunk async for chunk in stream.chunks()]
        assert stream.findings == ()
        return chunks


def speech_in(chunks: list[LiveChunk]) -> list[bytes]:
    """The samples of each segment, and an empty entry for each pause: a pause may be longer where its segment was
    resumed, since the second worker does not know how much silence the first one sent.
    """
    runs = groupby(chunks, lambda chunk: (chunk.segment, chunk.is_pause))
    return [b"" if is_pause else b"".join(chunk.pcm for chunk in run) for (_, is_pause), run in runs]


def test_text_in_pieces_is_spoken_as_it_is_whole(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore
) -> None:
    async def listen() -> None:
        with speaking_worker(redis_client, local_store):
            async with live_door() as live, await live.open(ANN, order("", text_is_open=True)) as stream:
                for word in TEXT.split(" "):
                    await stream.extend(f"{word} ", is_last=False)
                await stream.extend("", is_last=True)
                assert await hear(stream) == await undisturbed(live)

    asyncio.run(listen())


def test_who_leaves_frees_the_engine(
    live_door: Opener, redis_client: redis.Redis, local_store: LocalArtifactStore
) -> None:
    async def listen() -> None:
        with speaking_worker(redis_client, local_store, live_slots=1, step_s=0.02) as worker:
            async with live_door() as live:
                async with await live.open(ANN, order(TEXT)) as stream:
                    async for _ in stream.chunks():
                        break
                async with asyncio.timeout(60):
                    while worker.engine.stats().active:
                        await asyncio.sleep(0.01)
                await undisturbed(live)

    asyncio.run(listen())


async def started(stack: AsyncExitStack, settings: StorageSettings, folder: Path, name: str) -> Process:
    """A worker's live server in a process of its own, once it is announced."""
    urls = [each.get_secret_value() for each in (settings.redis_url, settings.broker_url)]
    command = (sys.executable, "-m", "tests.api.live.speaking_worker", name, *urls, str(folder), "8", "0.04")
    worker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    stack.push_async_callback(ended, worker)
    assert worker.stdout is not None
    assert (await worker.stdout.readline()).startswith(b"ws://")
    return worker


async def ended(worker: Process) -> None:
    if worker.returncode is None:
        worker.kill()
    await worker.wait()


def test_streams_outlive_workers_that_are_killed_and_stopped(
    live_door: Opener, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """Six streams at three processes, of which one is killed, and then one is stopped."""

    async def listen() -> None:
        async with AsyncExitStack() as stack:
            names = ("one", "two", "three")
            starting = [started(stack, storage_settings, tmp_path, name) for name in names]
            killed, stopped, _ = await asyncio.gather(*starting)
            live = await stack.enter_async_context(live_door())
            whole = await undisturbed(live, reproducibility="strict")
            strict = order(TEXT, reproducibility="strict")
            streams = [await stack.enter_async_context(await live.open(ANN, strict)) for _ in range(6)]
            assert {stream.worker for stream in streams} == set(names)
            hearing = [asyncio.create_task(hear(stream)) for stream in streams]
            await asyncio.sleep(0.3)
            killed.kill()
            await asyncio.sleep(0.3)
            os.kill(stopped.pid, signal.SIGSTOP)
            assert all(heard == whole for heard in await asyncio.gather(*hearing))
            assert {stream.worker for stream in streams} == {"three"}
            assert [stream.outcome for stream in streams] == ["done"] * 6

    asyncio.run(listen())


def test_a_certificate_that_is_not_accepted_is_told_of_in_one_line(
    storage_settings: StorageSettings,
    redis_client: redis.Redis,
    local_store: LocalArtifactStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Issued to another name, and by somebody who is not trusted; each is said once, however often it is tried."""
    # A try that is late on a busy machine would be told of, too.
    monkeypatch.setattr("api.live.link.OPEN_TIMEOUT_S", 60.0)
    ours, others = Authority.made_in(tmp_path / "ours"), Authority.made_in(tmp_path / "others")
    # Keys of its own: an API of another test in this process trusts none of them, and says so too.
    trusting = storage_settings.model_copy(update={"tls_ca": ours.ca, "key_prefix": "certificates"})
    worker = partial(speaking_worker, redis_client, local_store, trusting.key_prefix)

    def binding(authority: Authority, name: str) -> LiveBinding:
        return LiveBinding(tls=server_context(authority.certificate, authority.key), server_name=name)

    def told() -> list[str]:
        # An API of another test may still look for workers that are gone, without TLS.
        unreached = [record.__dict__ for record in caplog.records if "cannot be reached" in record.message]
        return [str(said["reason"]) for said in unreached if said["url"].startswith("wss:")]

    async def look() -> None:
        with (
            worker(name="one", binding=binding(ours, "elsewhere.example")),
            worker(name="two", binding=binding(others, "localhost")),
            worker(name="good", binding=binding(ours, "localhost")),
        ):
            async with opened_door(trusting) as live:
                async with await live.open(ANN, order(TEXT)) as stream:
                    assert stream.worker == "good"
                    assert await hear(stream)
                async with asyncio.timeout(60):
                    while len(told()) < 2:
                        await asyncio.sleep(0.01)
                # Long enough for further tries.
                await asyncio.sleep(0.5)

    asyncio.run(look())
    name, issuer = sorted(told(), key=lambda reason: "elsewhere.example" not in reason)
    assert "elsewhere.example" in name
    assert "issuer" in issuer
    assert all("RHAPSODE_TLS_CA" in reason and "\n" not in reason for reason in (name, issuer))


def test_a_stream_waits_for_the_worker_that_comes_back(
    live_door: Opener, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """The only one there is, killed and started again; strict: the bytes of an undisturbed stream."""
    strict = {"reproducibility": "strict"}

    async def listen() -> None:
        async with AsyncExitStack() as stack:
            alone = await started(stack, storage_settings, tmp_path, "one")
            live = await stack.enter_async_context(live_door())
            whole = await undisturbed(live, **strict)
            stream = await stack.enter_async_context(await live.open(ANN, order(TEXT, **strict)))
            chunks = stream.chunks()
            heard = b"".join([(await anext(chunks)).pcm for _ in range(2)])
            alone.kill()
            await alone.wait()
            await started(stack, storage_settings, tmp_path, "one-again")
            heard += b"".join([chunk.pcm async for chunk in chunks])
            assert heard == whole
            assert stream.worker == "one-again"

    asyncio.run(listen())


def test_a_stream_whose_worker_stays_away_ends_with_its_reason(
    live_door: Opener, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async def listen() -> None:
        async with AsyncExitStack() as stack:
            alone = await started(stack, storage_settings, tmp_path, "one")
            live = await stack.enter_async_context(live_door(patience=replace(PATIENCE, resume_s=0.3)))
            stream = await stack.enter_async_context(await live.open(ANN, order(TEXT)))
            assert (await anext(stream.chunks())).pcm
            alone.kill()
            await alone.wait()
            with pytest.raises(LiveBroken) as broken:
                await hear(stream)
            assert broken.value.code == stream.outcome == "worker_lost"
            assert "0.3 s" in broken.value.detail

    asyncio.run(listen())
