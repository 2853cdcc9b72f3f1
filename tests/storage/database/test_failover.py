"""kill -9 of the primary while jobs come in: every job that was accepted is at the server that follows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from storage.database.connections import connect_redis, connect_redis_async
from storage.errors import StoreUnavailable
from storage.ids import JobId
from storage.job_store.store import JobStore
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from tests.storage.database.failover_servers import WatchedServers, watched_servers
from tests.storage.job_store.job_driver import ALICE, submission
from tests.threads import join_in_time
from tests.waiting import until

FAILOVERS = 2


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedServers]:
    with watched_servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


class Clients:
    """Submit one job after the other, and remember which were accepted and when."""

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs
        self.accepted: list[tuple[JobId, float]] = []
        self.refused = 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._submit, args=(number,)) for number in range(4)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        join_in_time(*self._threads)

    def _submit(self, number: int) -> None:
        while not self._over.is_set():
            wanted = submission(ALICE)
            try:
                if number % 2:
                    self._jobs.submit(wanted)
                else:
                    self._jobs.submit_placed(wanted)
            except StoreUnavailable:
                self.refused += 1
            else:
                self.accepted.append((wanted.id, time.monotonic()))
            time.sleep(0.01)


def test_no_accepted_job_is_lost_in_a_failover_and_everything_goes_on(servers: WatchedServers) -> None:
    settings = servers.settings()
    tickets = TicketQueue(create_celery(settings, "test"))
    with connect_redis(settings) as client:
        jobs = JobStore(client, accept_replicas=1)
        for _ in range(FAILOVERS):
            clients = Clients(jobs)
            clients.start()
            until(lambda clients=clients: len(clients.accepted) > 20)
            lost = servers.primary()
            servers.kill(lost)
            struck_s = time.monotonic()
            until(lambda lost=lost: servers.primary() != lost)
            follower = servers.primary()
            # It has no replica: nothing is accepted, whatever it writes.
            servers.start_server(lost, of=follower)
            until(lambda struck_s=struck_s, clients=clients: clients.accepted[-1][1] > struck_s + 0.5)
            clients.stop()
            tickets.send(Tickets({CPU_QUEUE: 1}))

            with connect_redis(settings) as fresh:
                known = JobStore(fresh)
                assert [job for job, _ in clients.accepted if known.get(ALICE, job).id != job] == []
            assert clients.refused > 0
            until(lambda follower=follower: servers.at(follower).info("replication")["connected_slaves"] == 1)
        until(lambda: tickets_go_through(tickets))
    tickets.close()


def tickets_go_through(tickets: TicketQueue) -> bool:
    """A ticket that is not taken is replaced by the janitor: this does so."""
    try:
        before = tickets.waiting(CPU_QUEUE)
        tickets.send(Tickets({CPU_QUEUE: 1}))
        return tickets.waiting(CPU_QUEUE) > before
    except StoreUnavailable:
        return False


def test_without_a_replica_that_hears_a_job_is_not_accepted_and_its_repetition_is(servers: WatchedServers) -> None:
    follower = next(port for port in servers.ports if port != servers.primary())
    with connect_redis(servers.settings()) as client:
        jobs, wanted = JobStore(client, accept_replicas=1), submission(ALICE)
        servers.kill(follower)

        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                jobs.submit(wanted)
        JobStore(client).submit(submission(ALICE))

        servers.start_server(follower, of=servers.primary())
        until(lambda: servers.at(servers.primary()).info("replication")["connected_slaves"] == 1)
        assert jobs.submit(wanted).job.id == wanted.id


def test_a_primary_whose_host_stands_still_is_asked_no_second_time(
    servers: WatchedServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.database.connections.SOCKET_TIMEOUT_S", 1.0)
    with connect_redis(servers.settings()) as client:
        jobs = JobStore(client)
        jobs.submit(submission(ALICE))
        lost = servers.primary()
        servers.freeze(lost)
        try:
            until(lambda: servers.primary() != lost)
            # The one connection that there is leads to the host that stands still.
            with pytest.raises(StoreUnavailable):
                jobs.submit(submission(ALICE))

            jobs.submit(submission(ALICE))
        finally:
            servers.thaw(lost)
        until(lambda: servers.at(servers.primary()).info("replication")["connected_slaves"] == 1)


def test_readers_of_events_are_led_to_the_primary_too(servers: WatchedServers) -> None:
    async def ask() -> object:
        client = connect_redis_async(servers.settings())
        try:
            return (await client.info("replication"))["role"]
        finally:
            await client.aclose()

    assert asyncio.run(ask()) == "master"


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://host:26379",
        "redis+sentinel:///service/0",
        "redis+sentinel://host:26379/service/one",
        "redis+sentinel://host:26379/service/0?password=secret-word",
        "redis+sentinel://host:port/service",
        "redis+sentinel://host:26379/service/1",
    ],
)
def test_a_url_that_names_no_service_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        StorageSettings.model_validate({"redis_url": url, "store": "s3://nowhere"})

    assert "secret-word" not in str(caught.value)
