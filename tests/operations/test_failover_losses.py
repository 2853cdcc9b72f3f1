"""kill -9 of a primary whose replica had not heard all: what was accepted comes back from the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.database.connections import connect_redis
from storage.objects.local_store import LocalArtifactStore
from storage.queue.celery_queue import TicketQueue, create_celery
from tests.operations.test_state_watch import System
from tests.storage.database.failover_servers import PASSWORD, watched_servers
from tests.waiting import until


@pytest.mark.parametrize("is_counted", [True, False], ids=["counted by the janitor", "between two counts"])
def test_a_job_that_was_accepted_before_a_failover_and_lost_in_it_is_back_afterwards(
    tmp_path: Path, is_counted: bool
) -> None:
    store = LocalArtifactStore(tmp_path / "store", b"only for this test")
    with watched_servers(tmp_path) as servers, connect_redis(servers.settings()) as client:
        tickets = TicketQueue(create_celery(servers.settings(), "test"))
        system = System(client, store, tickets)
        heard = system.accept()
        system.watch.watch_state()
        lost, follower = servers.primary(), next(port for port in servers.ports if port != servers.primary())
        until(lambda: system.knows(heard) and servers.at(follower).exists(f"{{rhapsode}}:job:{heard.id}") == 1)

        servers.deafen(follower)
        unheard = [system.accept() for _ in range(20)]
        if is_counted:
            system.watch.watch_state()
        servers.kill(lost)
        until(lambda: servers.primary() == follower)
        servers.at(follower).config_set("masterauth", PASSWORD)

        assert not any(map(system.knows, unheard))
        system.watch.watch_state()
        assert all(map(system.knows, [heard, *unheard]))
        assert sum(system.claims() for _ in range(30)) == 1 + len(unheard)
        tickets.close()
