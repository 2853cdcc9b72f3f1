"""What operators see and press on a running system, by the command line, and what its workers show at their ports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from rhapsode.client.sync.client import Rhapsode
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.command_line import CommandLine
from tests.operations.ports import free_ports
from tests.operations.test_metrics import scrape
from tests.waiting import until

NUM_SENTENCES = 240
"""More than are spoken while the command line starts."""

TEXT = " ".join(f"The lantern number {number} was never lit again by anybody." for number in range(NUM_SENTENCES))


ROLES = {"gpu", "cpu", "hooks", "janitor"}


@dataclass(frozen=True)
class Running:
    url: str
    folder: Path
    ports: range
    command_line: CommandLine

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.command_line.run(*words, "--server", self.url, environment=os.environ)


@pytest.fixture(scope="module")
def running(run_dir: Path, command_line: CommandLine) -> Iterator[Running]:
    """A system with a slow engine of tones, whose workers show their metrics."""
    ports = free_ports(6)
    environ = {
        "RHAPSODE_ENGINE": "fake",
        "RHAPSODE_FAKE_STEP_S": "0.03",
        "RHAPSODE_SLOTS": "4",
        "RHAPSODE_METRICS_PORT": f"{ports[0]}-{ports[-1]}",
    }
    with Stack(StackOptions(run_dir / "operators"), environ, lambda _: None) as stack:
        stack.wait_ready()
        yield Running(stack.url, run_dir / "operators", ports, command_line)


def test_a_drained_worker_finishes_what_it_holds_and_claims_nothing_until_it_may(running: Running) -> None:
    with Rhapsode(running.url) as client:
        job = client.submit_job(TEXT)
        until(lambda: any(worker.leases for worker in client.operations.workers() if worker.name == "gpu-0"))

        drained = running.command("drain", "gpu-0", "--wait")

        assert (drained.returncode, drained.stdout) == (0, "gpu-0 is drained\n"), drained.stderr
        done = client.job(job.id).progress.segments.done
        assert 0 < done < NUM_SENTENCES
        assert "gpu-0\tdrained" in running.command("workers").stdout
        assert client.operations.queues().totals.leases == 0
        until(lambda: (queue := client.job(job.id).queue) is not None and not queue.has_worker)
        queues = running.command("queues")
        assert re.search(r"^tenants: local 1 job, .* of audio$", queues.stderr, re.M)
        assert "all workers of gpu.fake are drained: `rhapsode drain WORKER --undo`\n" in queues.stderr
        assert re.search("^worker +its workers are drained$", running.command("jobs", "show", job.id).stdout, re.M)
        time.sleep(1)
        assert client.job(job.id).progress.segments.done == done

        assert running.command("drain", "gpu-0", "--undo").returncode == 0
        until(lambda: client.job(job.id).progress.segments.done > done)
        client.cancel(job.id)


def test_the_command_line_shows_the_fleet(running: Running) -> None:
    with Rhapsode(running.url) as client:
        job = client.submit_job("A short one.")
        client.wait(job.id)
        until(lambda: {worker.role for worker in client.operations.workers()} == ROLES)

    workers = [json.loads(line) for line in running.command("workers", "--json").stdout.splitlines()]
    assert {worker["role"] for worker in workers} == ROLES
    assert next(worker for worker in workers if worker["role"] == "gpu")["engine"]["steps_total"] >= 0
    queues = running.command("queues")
    assert "gpu.fake\tinteractive" in queues.stdout
    assert "unfinished jobs" in queues.stderr
    assert "tenants:" not in queues.stderr
    assert running.command("audit").stdout == "no counter differs\n"
    assert "drained" not in queues.stderr
    assert "store" not in queues.stderr
    assert [running.command("dlq", "list").stderr, running.command("dlq", "list").stdout] == ["no items\n", ""]
    assert running.command("dlq", "rm", "1-1").returncode == 1
    assert " jobs in the journal: 0 restored" in running.command("reconcile").stdout
    unknown = running.command("drain", "nobody")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
    assert running.command("drain", "gpu-0", "--undo", "--wait").returncode == 2


def test_every_worker_shows_its_metrics_on_a_port_of_its_own(running: Running) -> None:
    with Rhapsode(running.url) as client:
        # Of several segments, so that something is assembled.
        client.wait(client.submit_job("Something to count. " * 40).id)

    # A janitor is ready before its first turn, in which it asks for the lock.
    try:
        until(lambda: scrape_all(running.ports).get("rhapsode_janitor_leader{}") == 1)
    except AssertionError as error:
        log = DataDir(running.folder).logs / "janitor.log"
        raise AssertionError(f"{scrape_all(running.ports)}\n{log.read_text()}") from error
    seen = scrape_all(running.ports)

    roles = {name.partition("role=")[2].partition(",")[0] for name in seen if name.startswith("rhapsode_process_info")}
    assert roles == ROLES
    assert seen["rhapsode_audio_seconds_total{origin=spoken}"] > 0
    assert seen["rhapsode_items_total{kind=segment,outcome=done}"] >= 1
    assert seen["rhapsode_items_total{kind=assemble,outcome=done}"] >= 1
    assert seen["rhapsode_engine_slots{}"] == 4
    assert seen["rhapsode_gate_attempts_total{verdict=passed}"] >= 1


def scrape_all(ports: range) -> dict[str, float]:
    """The metrics of all workers. A port at which none listens is left out.

    Processes that were forked from the tests' own have each other's metrics too, at 0: the larger value counts.
    """
    seen: dict[str, float] = {}
    for port in ports:
        try:
            found = scrape(f"http://127.0.0.1:{port}")
        except httpx.ConnectError:
            continue
        seen |= {name: max(value, seen.get(name, value)) for name, value in found.items()}
    return seen
