"""What cells cost each other and what a router costs: four systems on one machine, each with its own Valkey and API.

    python -m benchmarks.queue.cells [--submits 2000] [--rounds 3]

Clients submit jobs with a key and an idempotency key, one client a cell, in turns: to one cell alone, to all four side
by side, and to all four through a router. Four systems share the cores of this machine, so what is compared is the CPU
of a submit in its cell (API and Valkey): cells that cost each other nothing make the sum of what each makes alone, on
hosts of their own. Then one cell, API and Valkey, is killed with SIGKILL while all are busy: what the others' clients
see of it. Its socket stays open here, as that of a host that is frozen.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from api.router.cells import parse_cells
from api.router.placement import Placement
from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.process_figures import cpu_s
from tests.run_guard import guarded_run

NAMES = ("a", "b", "c", "d")
SENTENCE = "The lamp in the hall was lit, and nobody could say who had come down to do it."
WARM_UP = 100
KILLED_AFTER_S, BUSY_S = 3.0, 20.0
START_S = 60.0
PATIENCE_S = 2.0
"""Of a client whose cell was killed."""


@dataclass(frozen=True)
class Cell:
    """tenant: one whose home it is."""

    name: str
    api: ServedApi
    tenant: str

    def cpu_s(self) -> float:
        """Of its API and of its Valkey so far."""
        used = self.api.state.info("cpu")
        return self.api.cpu_s() + used["used_cpu_sys"] + used["used_cpu_user"]

    def kill(self) -> None:
        valkey = self.api.state.info("server")["process_id"]
        for pid in (self.api.pid, valkey):
            os.kill(pid, signal.SIGKILL)


@dataclass
class Seen:
    """By one client: seconds of each accepted submit and when it ended (monotonic), and other answers' statuses."""

    accepted: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    refused: list[int] = field(default_factory=list[int])
    num_unanswered: int = 0


def main() -> None:
    arguments = _parser().parse_args()
    with guarded_run() as folder, ExitStack() as running:
        cells = _start_cells(running, folder)
        router, router_pid = running.enter_context(_router(cells))
        for port in (router, *(cell.api.port for cell in cells)):
            _submit(port, cells if port == router else [cell for cell in cells if cell.api.port == port], WARM_UP)
        _compare(cells, router, router_pid, arguments.rounds, arguments.submits)
        _kill_one(cells, router)


def _compare(cells: Sequence[Cell], router: int, router_pid: int, rounds: int, submits: int) -> None:
    print(f"{'':24} {'submits/s':>10} {'p50 ms':>8} {'CPU ms of a cell':>17} {'of the router':>14}")
    for _ in range(rounds):
        _print_round("one cell alone", cells[:1], None, router_pid, submits)
        _print_round("four side by side", cells, None, router_pid, submits)
        _print_round("four through a router", cells, router, router_pid, submits)


def _print_round(name: str, cells: Sequence[Cell], router: int | None, router_pid: int, submits: int) -> None:
    before, before_router = sum(cell.cpu_s() for cell in cells), cpu_s(router_pid)
    began_s = time.perf_counter()
    seen = _submit(router, cells, submits // len(cells))
    wall_s = time.perf_counter() - began_s
    took = [took_s for each in seen for took_s, _ in each.accepted]
    of_cells, of_router = sum(cell.cpu_s() for cell in cells) - before, cpu_s(router_pid) - before_router
    rates = f"{len(took) / wall_s:>10.0f} {statistics.median(took) * 1000:>8.1f}"
    print(f"{name:24} {rates} {of_cells / len(took) * 1000:>17.2f} {of_router / len(took) * 1000:>14.2f}")


def _kill_one(cells: Sequence[Cell], router: int) -> None:
    """The first cell dies; the figures are of the clients of the others, and of its own."""
    seen = [Seen() for _ in cells]
    until_s = time.monotonic() + BUSY_S
    threads = [
        threading.Thread(target=_submit_until, args=(router, cell.tenant, until_s, each))
        for cell, each in zip(cells, seen, strict=True)
    ]
    for thread in threads:
        thread.start()
    time.sleep(KILLED_AFTER_S)
    killed_s = time.monotonic()
    cells[0].kill()
    for thread in threads:
        thread.join()
    own, others = seen[0], seen[1:]
    before = [took_s for each in others for took_s, at_s in each.accepted if at_s < killed_s]
    after = [took_s for each in others for took_s, at_s in each.accepted if at_s >= killed_s]
    print(f"\nkill -9 of a cell after {KILLED_AFTER_S:.0f} of {BUSY_S:.0f} s")
    print(f"  others: {len(before)} accepted before, {len(after)} after, {sum(len(e.refused) for e in others)} refused")
    print(f"  others' longest submit: {max(before) * 1000:.0f} ms before, {max(after) * 1000:.0f} ms after")
    statuses = {status: own.refused.count(status) for status in sorted(set(own.refused))}
    print(f"  its own tenant: {len(own.accepted)} accepted, then {own.num_unanswered} unanswered, {statuses}")


def _submit(port: int | None, cells: Sequence[Cell], each: int) -> list[Seen]:
    """A client for each cell, all at once, at that port or at the cell's own."""
    seen = [Seen() for _ in cells]
    threads = [
        threading.Thread(target=_submit_some, args=(port or cell.api.port, cell.tenant, each, found))
        for cell, found in zip(cells, seen, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if refused := [status for found in seen for status in found.refused]:
        sys.exit(f"jobs were refused: {refused[:5]}")
    return seen


def _submit_some(port: int, tenant: str, number: int, seen: Seen) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(number):
        _post(connection, tenant, seen)
    connection.close()


def _submit_until(port: int, tenant: str, until_s: float, seen: Seen) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    while time.monotonic() < until_s:
        try:
            if not _post(connection, tenant, seen):
                time.sleep(0.1)
        except TimeoutError:
            seen.num_unanswered += 1
            connection.close()
    connection.close()


def _post(connection: http.client.HTTPConnection, tenant: str, seen: Seen) -> bool:
    body = json.dumps({"input": {"text": f"{SENTENCE} {secrets.token_hex(8)}"}}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {_key(tenant)}",
        "Idempotency-Key": secrets.token_hex(16),
    }
    began_s = time.perf_counter()
    connection.request("POST", "/v1/jobs", body, headers)
    response = connection.getresponse()
    response.read()
    if response.status != 202:
        seen.refused.append(response.status)
        return False
    seen.accepted.append((time.perf_counter() - began_s, time.monotonic()))
    return True


def _key(tenant: str) -> str:
    return f"rhk-{tenant}"


def _start_cells(running: ExitStack, folder: Path) -> list[Cell]:
    fleet = parse_cells(",".join(f"{name}=http://{name}" for name in NAMES))
    homes = {f"tenant{n}": Placement(fleet, {}).homes(f"tenant{n}")[0].name for n in range(100)}
    tenants = {name: next(tenant for tenant, home in homes.items() if home == name) for name in NAMES}
    keys = _digests(tenants.values())
    cells: list[Cell] = []
    for name in NAMES:
        (folder / name).mkdir()
        more = {"RHAPSODE_CELL": name, "RHAPSODE_API_KEYS": json.dumps(keys), "FORWARDED_ALLOW_IPS": "127.0.0.1"}
        api = running.enter_context(served_api(folder / name, 1, None, ("api.server",), **more))
        cells.append(Cell(name, api, tenants[name]))
    return cells


def _digests(tenants: Iterable[str]) -> dict[str, str]:
    return {hashlib.sha256(_key(tenant).encode()).hexdigest(): tenant for tenant in tenants}


@contextmanager
def _router(cells: Sequence[Cell]) -> Generator[tuple[int, int]]:
    """Its port and its process."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        port = listener.getsockname()[1]
        environment = os.environ | {
            "RHAPSODE_CELLS": ",".join(f"{cell.name}=http://127.0.0.1:{cell.api.port}" for cell in cells),
            "RHAPSODE_API_KEYS": json.dumps(_digests([cell.tenant for cell in cells])),
            "RHAPSODE_LOG_LEVEL": "error",
        }
        command = [sys.executable, "-m", "api.router.server", "--fd", str(listener.fileno())]
        with subprocess.Popen(command, env=environment, pass_fds=(listener.fileno(),)) as process:
            _wait_ready(port)
            yield port, process.pid
            process.terminate()


def _wait_ready(port: int) -> None:
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/livez")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    sys.exit("the router did not start")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submits", type=int, default=2000, help="submits of each turn, over all clients")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each kind")
    return parser


if __name__ == "__main__":
    main()
