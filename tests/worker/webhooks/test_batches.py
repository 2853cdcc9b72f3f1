"""Many deliveries at once: what they share, and what none of them costs the others."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import redis

from rhapsode.contract.webhooks import DeliveryState
from rhapsode.stack import processes
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.process_names import HOOKS_WORKER
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId
from storage.runtime.egress.connecting import AttemptTimes
from tests.environment import without_settings
from tests.faults.receiver import receiving
from tests.storage.job_store.job_driver import ALICE
from tests.storage.runtime.egress.listeners import NO_CONTENT, keeping, listener
from tests.waiting import until
from tests.worker.webhooks.receivers import KEY, HookWorld

ENDPOINTS, ROUNDS = 25, 4


def round_trips(client: redis.Redis) -> int:
    stats = cast("dict[str, dict[str, int]]", client.info("commandstats"))
    return int(stats["cmdstat_fcall"]["calls"])


def test_deliveries_share_round_trips_and_connections(world: HookWorld) -> None:
    with keeping() as server:
        for number in range(ENDPOINTS):
            world.receiver(f"http://127.0.0.1:{server.port}/{number}")
        jobs = [world.end_job()]
        with world.delivering() as loop:
            loop.serve()
            until(lambda: all_delivered(world, jobs))
            jobs = [world.end_job() for _ in range(ROUNDS)]
            before = round_trips(world.client)
            loop.serve()
            until(lambda: len(server.bodies) == ENDPOINTS * (ROUNDS + 1))
            spent = round_trips(world.client) - before
        assert all_delivered(world, jobs)

    # One claim, one body and one verdict for each would be three.
    assert spent < ENDPOINTS * ROUNDS
    assert len(server.requests) <= ENDPOINTS * ROUNDS


def test_one_that_hangs_holds_up_none_of_its_batch(world: HookWorld) -> None:
    """The others are delivered, settled and followed by more while it hangs."""
    over = threading.Event()

    def hang(stream: socket.socket, _: bytes) -> None:
        over.wait(60)

    with keeping() as server, listener(hang) as dead:
        for number in range(10):
            world.receiver(f"http://127.0.0.1:{server.port}/{number}")
        world.receiver(f"http://127.0.0.1:{dead.port}/")
        with world.delivering(AttemptTimes(60, 60), claims=lambda: not over.is_set()) as loop:
            for count in (1, 2, 3):
                job = world.end_job()
                loop.serve()
                until(lambda count=count: len(server.bodies) == 10 * count)
                until(lambda job=job: states(world, job).count(DeliveryState.DELIVERED) == 10)
            over_yet, hanging = over.is_set(), dead.connections
            over.set()

    assert not over_yet
    assert hanging == 1


def states(world: HookWorld, job: JobId) -> list[DeliveryState]:
    return [each.state for each in world.store.job_deliveries(ALICE, job)]


def all_delivered(world: HookWorld, jobs: list[JobId]) -> bool:
    return all(set(states(world, job)) == {DeliveryState.DELIVERED} for job in jobs)


def test_a_connection_that_was_given_up_is_no_failed_attempt(world: HookWorld) -> None:
    with keeping(lambda connection, request: b"" if connection == 0 and request else NO_CONTENT) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        with world.delivering() as loop:
            jobs: list[JobId] = []
            for _ in range(2):
                jobs.append(world.end_job())
                loop.serve()
                until(lambda: all_delivered(world, jobs))

    (attempt,) = world.store.delivery_with_attempts(ALICE, world.delivery(jobs[1]).id)[1]
    assert (attempt.status, attempt.reason) == (204, "")
    assert server.requests == [2, 1]


@contextmanager
def deliverer(valkey: EmbeddedRedis, data_dir: DataDir, **settings: str) -> Generator[subprocess.Popen[bytes]]:
    """The process as the stack starts it."""
    backing = {"RHAPSODE_REDIS_URL": valkey.url, "RHAPSODE_BROKER_URL": valkey.broker_url}
    given = without_settings(os.environ) | {"RHAPSODE_WEBHOOK_KEY": KEY} | settings
    options = StackOptions(data_dir.root, has_local_webhooks=True)
    shared = processes.shared_environment(given, data_dir, options, backing)
    spec = processes.spec_of(PlannedProcess(HOOKS_WORKER, 0, 1, 1), shared, data_dir)
    with (data_dir.logs / "hooks.log").open("ab") as log:
        process = subprocess.Popen(spec.command, env=dict(spec.environment), stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def test_kill_9_in_the_middle_of_a_batch_loses_nothing(valkey: EmbeddedRedis, data_dir: Path) -> None:
    """It dies with attempts that were taken and not recorded; the next process of its name makes them again."""
    folder = DataDir(data_dir / "system")
    folder.create()
    with redis.Redis.from_url(valkey.url, decode_responses=True) as client, receiving(0.0, 0.0, 1) as receiver:
        world = HookWorld(client)
        # The process asks the server what the time is.
        world.clock.advance(time.time() - world.clock.now_ms / 1000)
        for number in range(ENDPOINTS):
            endpoint = world.receiver(f"{receiver.url}/{number}")
            receiver.secrets[f"/{number}"] = world.secrets[endpoint.id]
        jobs = [world.end_job() for _ in range(2)]
        with deliverer(valkey, folder, RHAPSODE_FAILPOINT="hook.after_post:kill:12") as doomed:
            assert doomed.wait(60) == -signal.SIGKILL
        told = len(receiver.events)
        with deliverer(valkey, folder):
            until(lambda: all_delivered(world, jobs))

    assert 0 < told < ENDPOINTS * len(jobs)
    assert len(receiver.events) == ENDPOINTS * len(jobs)
    assert all(len(bodies) == 1 for bodies in receiver.bodies.values())
