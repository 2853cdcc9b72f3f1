"""A Redis Cluster of three real servers: each refuses us in one line at start, whichever keys it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from storage.database.embedded_valkey import find_server_binary
from tests.environment import without_settings
from tests.operations.ports import free_ports
from tests.waiting import until

SLOTS = 16_384


@pytest.fixture(scope="module")
def cluster(run_dir: Path) -> Iterator[list[int]]:
    """Its ports. The first server has the slot of our keys, the others send clients to it."""
    ports, buses = (list(free_ports(6))[part] for part in (slice(3), slice(3, 6)))
    with ExitStack() as ends:
        for port, bus in zip(ports, buses, strict=True):
            folder = run_dir / f"cluster-{port}"
            folder.mkdir()
            command = [find_server_binary(), "--port", str(port), "--cluster-port", str(bus), "--bind", "127.0.0.1"]
            options = ["--cluster-enabled", "yes", "--save", "", "--dir", str(folder)]
            server = ends.enter_context(subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL))
            ends.callback(server.terminate)
        clients = [ends.enter_context(redis.Redis(port=port, decode_responses=True)) for port in ports]
        until(lambda: all(answers(client) for client in clients))
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER ADDSLOTSRANGE", SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1)
            if number:
                clients[0].execute_command("CLUSTER MEET", "127.0.0.1", ports[number], buses[number])
        until(lambda: all("cluster_state:ok" in str(each.execute_command("CLUSTER", "INFO")) for each in clients))
        yield ports


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.mark.parametrize(("member", "process"), [(0, "cpu-worker"), (1, "cpu-worker"), (2, "janitor")])
def test_a_process_refuses_every_member_in_one_line(
    cluster: list[int], tmp_path: Path, member: int, process: str
) -> None:
    settings = {
        "RHAPSODE_REDIS_URL": f"redis://127.0.0.1:{cluster[member]}/0",
        "RHAPSODE_STORE": tmp_path.as_uri(),
        "RHAPSODE_URL_SECRET": "k" * 32,
    }
    outcome = subprocess.run(
        [sys.executable, "-m", "rhapsode", "run", process],
        env=without_settings(os.environ) | settings, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert outcome.returncode == 1, outcome.stderr
    assert outcome.stderr.splitlines()[-1] == (
        f"the {process.replace('-', ' ')} cannot start: this server is a node of a Redis Cluster, "
        "which Rhapsode cannot use: name a server without cluster mode, or its Sentinels"
    )
    assert "Traceback" not in outcome.stderr + outcome.stdout
