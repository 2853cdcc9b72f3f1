"""`rhapsode up` with several API processes and CPU workers is one system, whoever answers and whoever is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from rhapsode import Rhapsode
from storage.database.embedded_valkey import EmbeddedRedis
from tests.process_tree import PATIENCE_S, everything_below, wait_until_gone
from tests.rhapsode.stack.test_up import state_of
from tests.threads import BoundedExecutor
from tests.waiting import until
from worker.engine.cores import usable_cores

TEXT = "The wind and the sun were disputing which was the stronger. Suddenly they saw a traveller coming down the road."
TWO_OF_EACH = ("--device", "cpu", "--api-processes", "2", "--cpu-workers", "2")
REQUESTS = "rhapsode_http_requests_total"


@pytest.fixture
def started(start_cli: Any, data_dir: Path) -> tuple[list[str], str]:
    """What it said until it was ready, and where it answers."""
    said: list[str] = []
    process: subprocess.Popen[str] = start_cli("up", "--port", "0", "--data-dir", str(data_dir), *TWO_OF_EACH)
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if line.startswith("Ctrl-C stops it"):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return said, state_of(data_dir).url
    raise AssertionError("".join(said))


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pids_of(data_dir: Path) -> dict[str, int]:
    return {record.name: record.pid for record in state_of(data_dir).children}


def replaced(data_dir: Path, name: str, killed: int) -> bool:
    return pids_of(data_dir).get(name) not in (None, killed)


def speak(url: str) -> str:
    with Rhapsode(url) as client:
        return client.wait(client.submit_job(TEXT), timeout_s=PATIENCE_S).raise_unless_succeeded().id


def counted(url: str) -> Counter[str]:
    """The answers to this stack's requests for jobs, by status, as any of its API processes tells."""
    lines = httpx.get(f"{url}/metrics", timeout=PATIENCE_S).text.splitlines()
    told = (line.rpartition(" ") for line in lines if line.startswith(REQUESTS) and 'route="/v1/jobs"' in line)
    return Counter({name.partition('status="')[2].partition('"')[0]: int(float(value)) for name, _, value in told})


def served_by(url: str, pids: dict[str, int]) -> dict[str, int]:
    """Open connections by API process, as the kernel knows their owners; Linux alone."""
    port = httpx.URL(url).port
    inodes = {
        fields[9]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[1].endswith(f":{port:04X}") and fields[3] == "01"
    }
    links = {name: [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()] for name, pid in pids.items()}
    return {name: sum(link[8:-1] in inodes for link in found) for name, found in links.items()}


@pytest.mark.skipif(usable_cores() < 2, reason="`rhapsode up` refuses two of a kind on one core")
def test_several_processes_are_one_system_and_none_of_them_is_missed(
    started: tuple[list[str], str], data_dir: Path
) -> None:
    said, url = started
    pids = pids_of(data_dir)
    assert set(pids) == {
        *("valkey", "gpu-worker", "api-0", "api-1", "cpu-worker-0", "cpu-worker-1", "hooks-worker", "janitor")
    }
    table = {line.split()[0]: line.split() for line in said if line.startswith("  ")}
    assert (table["api"][1], table["cpu-worker"][1], table["gpu-worker"][1:3]) == ("2", "2", ["1", "cpu"])

    # Whatever one of them did the other knows: jobs, idempotency, what was measured.
    jobs = submitted_at_once(url, 24)
    assert len(set(jobs)) == 12
    with Rhapsode(url) as client:
        for job in jobs:
            client.wait(client.job(job), timeout_s=PATIENCE_S).raise_unless_succeeded()
        assert {job.id for job in client.jobs()} == set(jobs)
    assert [counted(url)["202"] for _ in range(6)] == [24] * 6

    both_have_connections(url, data_dir)
    # One of each kind is killed: what waits goes to the others, at once, and its successor counts on.
    for name in ("api-0", "api-1", "cpu-worker-0", "cpu-worker-1"):
        os.kill(killed := pids_of(data_dir)[name], signal.SIGKILL)
        speak(url)
        until(lambda name=name, killed=killed: replaced(data_dir, name, killed))
    assert counted(url)["202"] == 28
    held_while_its_process_is_told_to_end(url, data_dir)


def submitted_at_once(url: str, how_many: int) -> list[str]:
    """Each job twice with the same key, on connections of their own."""
    with BoundedExecutor(how_many) as threads:
        return list(threads.map(partial(submit, url), [f"key-{number // 2}" for number in range(how_many)]))


def submit(url: str, key: str) -> str:
    order = {"input": {"text": f"The wind and the sun, {key}."}}
    answer = httpx.post(f"{url}/v1/jobs", json=order, headers={"Idempotency-Key": key}, timeout=PATIENCE_S)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def both_have_connections(url: str, data_dir: Path) -> None:
    """Of those that come at the same time. While one stands still, the other takes what comes."""
    apis = {name: pid for name, pid in pids_of(data_dir).items() if name.startswith("api")}
    with ExitStack() as opened:
        clients = [opened.enter_context(httpx.Client(base_url=url, timeout=PATIENCE_S)) for _ in range(32)]
        with BoundedExecutor(32) as threads:
            assert {answer.status_code for answer in threads.map(is_alive, clients)} == {200}
        assert min(served_by(url, apis).values()) > 0
    os.kill(apis["api-0"], signal.SIGSTOP)
    try:
        for _ in range(16):
            assert httpx.get(f"{url}/livez", timeout=PATIENCE_S).status_code == 200
    finally:
        os.kill(apis["api-0"], signal.SIGCONT)


def is_alive(client: httpx.Client) -> httpx.Response:
    return client.get("/livez")


def held_while_its_process_is_told_to_end(url: str, data_dir: Path) -> None:
    """A request that is under way is answered by the process that is ending; new ones are taken by the other."""
    address = httpx.URL(url)
    apis = {name: pid for name, pid in pids_of(data_dir).items() if name.startswith("api")}
    with socket.create_connection((address.host, address.port or 80), timeout=PATIENCE_S) as connection:
        # Its body is still to come, so it is accepted and not answered.
        body = b'{"input": {"text": "Held."}}'
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: {address.netloc.decode()}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        until(lambda: sum(served_by(url, apis).values()) == 1)
        (name,) = (name for name, number in served_by(url, apis).items() if number)
        os.kill(apis[name], signal.SIGTERM)
        connection.sendall(body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    speak(url)
    until(lambda: replaced(data_dir, name, apis[name]))
    assert answer.startswith(b"HTTP/1.1 202")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--api-processes", "4096"), "--api-processes: 4096 API processes for"),
        (("--cpu-workers", "4096"), "--cpu-workers: 4096 CPU workers for"),
        (("--device", "cuda:0,cuda:0"), "--device: cuda:0 is named twice"),
        (("--device", "cuda:977"), "--device: cuda:977 is not here; "),
        (("--device", "gpu"), "--device: 'gpu' is no device"),
    ],
    ids=["apis", "cpu-workers", "twice", "absent", "unknown"],
)
def test_what_cannot_be_started_is_refused_in_one_line_and_leaves_nothing(
    run_cli: Any, data_dir: Path, arguments: tuple[str, ...], words: str
) -> None:
    refused = run_cli("up", "--port", "0", "--data-dir", str(data_dir), *arguments)

    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert words in refused.stderr
    assert list(data_dir.iterdir()) == []


def test_the_api_alone_as_several_processes(
    start_cli: Any, valkey: EmbeddedRedis, free_port: int, tmp_path: Path
) -> None:
    """As a container runs it."""
    env = {
        "RHAPSODE_REDIS_URL": valkey.url,
        "RHAPSODE_BROKER_URL": valkey.broker_url,
        "RHAPSODE_STORE": tmp_path.as_uri(),
        "RHAPSODE_URL_SECRET": "u" * 32,
    }
    process = start_cli("run", "api", "--port", str(free_port), "--processes", "2", env=env)
    url = f"http://127.0.0.1:{free_port}"
    until(lambda: process.poll() is not None or processes_at(url) == 2)
    taken = start_cli("run", "api", "--port", str(free_port), "--processes", "2", env=env)
    _, complaint = taken.communicate(timeout=PATIENCE_S)
    children = everything_below({process.pid})

    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert (taken.returncode, complaint.count("\n")) == (1, 1)
    assert f"port {free_port} on 127.0.0.1 is taken" in complaint
    assert process.returncode == 0, said
    assert len(children) == 3
    wait_until_gone(children)


def processes_at(url: str) -> int:
    try:
        lines = httpx.get(f"{url}/metrics", timeout=PATIENCE_S).text.splitlines()
    except httpx.TransportError:
        return 0
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("rhapsode_process_info{"))


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("api", "--processes", "2"), 2, "RHAPSODE_STORE"),
        (("cpu-worker", "--processes", "2"), 2, "--processes: one cpu-worker is one process"),
    ],
    ids=["settings", "worker"],
)
def test_a_process_that_cannot_be_several_says_so(
    run_cli: Any, free_port: int, arguments: tuple[str, ...], status: int, words: str
) -> None:
    settings = {"RHAPSODE_STORE": "gopher://here", "RHAPSODE_REDIS_URL": "redis://127.0.0.1:1"}
    refused = run_cli("run", *arguments, "--port", str(free_port), env=settings)

    assert refused.returncode == status
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr
