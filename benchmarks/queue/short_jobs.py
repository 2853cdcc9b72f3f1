"""What a short job costs beside its speech: CPU of each process, commands of Valkey, round trips, objects.

    python -m benchmarks.queue.short_jobs [--jobs 200] [--rounds 4] [--clients 8]

A stack (the engine `fake`, one API, one CPU worker, a folder store) speaks jobs of one segment over HTTP
(`Prefer: wait`, then the WAV by the link of the answer; with `--by-name` by `/artifacts/narration.wav`, which is one
request more). A whole job is one item; the same with `timestamps` is planned, spoken and assembled by
three, and has one file more, which the CPU worker writes. Both kinds take turns in one run, so that what else the
machine does meets both: the shares can be believed where the milliseconds cannot. Commands are Valkey's own count,
those of idle processes among them. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import httpx
import psutil
import redis

from benchmarks.queue.system import PROCESSES
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis
from tests.environment import without_settings
from tests.run_guard import guarded_run

FAKE_STEP_S = 0.001
SLOTS = 64
WARM_UP_JOBS = 40
VALKEY = "valkey"

KINDS: dict[str, dict[str, object]] = {"one_item": {}, "three_items": {"output": {"timestamps": "segment"}}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200, help="of each kind in a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--by-name", action="store_true", help="ask for the WAV by its name, not by the answer's link")
    arguments = parser.parse_args()

    environment = without_settings(os.environ)
    environment |= {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(FAKE_STEP_S)}
    environment |= {"RHAPSODE_RATE_LIMIT": "1000000/minute"}
    with guarded_run() as folder:
        options = StackOptions(folder, slots=SLOTS, devices=("cpu",), api_processes=1, cpu_workers=1)
        with Stack(options, environment, lambda _: None) as stack:
            stack.wait_ready()
            print(json.dumps(measure(stack, folder, arguments), indent=1))


def measure(stack: Stack, folder: Path, arguments: argparse.Namespace) -> dict[str, object]:
    numbers, fetch = count(), fetch_by_name if arguments.by_name else fetch_by_link
    for request in KINDS.values():
        speak(stack.url, request, list(islice(numbers, WARM_UP_JOBS)), arguments.clients, fetch)
    spent: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for turn in range(arguments.rounds):
        for kind in sorted(KINDS, reverse=bool(turn % 2)):
            before = taken(folder)
            speak(stack.url, KINDS[kind], list(islice(numbers, arguments.jobs)), arguments.clients, fetch)
            after = taken(folder)
            spent[kind].update({name: after[name] - before[name] for name in after})
    per_job = arguments.jobs * arguments.rounds
    rows = {kind: {name: round(total / per_job, 2) for name, total in spent[kind].items()} for kind in KINDS}
    shares = {
        name: round(rows["one_item"][name] / rows["three_items"][name], 2)
        for name in rows["three_items"]
        if rows["three_items"][name]
    }
    return {"jobs_of_a_kind": per_job, **rows, "shares": shares}


Fetch = Callable[[httpx.Client, dict[str, Any]], httpx.Response]
"""The WAV of a job's answer."""


def speak(url: str, request: dict[str, object], numbers: list[int], clients: int, fetch: Fetch) -> None:
    """One job for each number, by so many clients at a time."""
    waiting, lock = iter(numbers), threading.Lock()

    def run() -> None:
        with httpx.Client(base_url=url, timeout=100) as http:
            for number in shared(waiting, lock):
                ask(http, request, number, fetch)

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def shared(numbers: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        yield number


def ask(http: httpx.Client, request: dict[str, object], number: int, fetch: Fetch) -> None:
    text = f"The lamp went out at nine, and nobody came, said {number}."
    body = {"input": {"text": text}, "voice": "ada", "seed": number, **request}
    answer = http.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).raise_for_status().json()
    if answer["state"] != "succeeded":
        raise RuntimeError(f"a job did not succeed: {answer}")
    fetch(http, answer).raise_for_status()


def fetch_by_link(http: httpx.Client, answer: dict[str, Any]) -> httpx.Response:
    return http.get(next(made["url"] for made in answer["artifacts"] if made["name"] == "narration.wav"))


def fetch_by_name(http: httpx.Client, answer: dict[str, Any]) -> httpx.Response:
    return http.get(f"/v1/jobs/{answer['id']}/artifacts/narration.wav", follow_redirects=True)


def taken(folder: Path) -> Counter[str]:
    """What the stack has used so far: ms of CPU by process and all together, commands of Valkey, objects."""
    taken = Counter({f"{kind}_ms": ms for kind, ms in cpu_taken_ms().items()})
    taken["valkey_commands"] = commands(folder)
    taken["objects"] = sum(1 for path in DataDir(folder).objects.rglob("*") if path.is_file())
    return taken


def cpu_taken_ms() -> Counter[str]:
    """By the processes of the stack so far, by kind, and by all of them together."""
    taken = Counter[str]()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words, times = process.cmdline(), process.cpu_times()
            kind = next((kind for kind, word in PROCESSES.items() if word in words), None)
            kind = kind or (VALKEY if VALKEY in words[0] else "others")
            taken[kind] += round((times.user + times.system) * 1000)
    taken["all"] = sum(taken.values())
    return taken


def commands(folder: Path) -> int:
    """That the stack's Valkey has carried out, those inside its functions among them."""
    with redis.Redis.from_url(EmbeddedRedis(DataDir(folder).valkey).url) as client:
        told: dict[str, dict[str, Any]] = client.info("commandstats")
    return sum(int(row["calls"]) for row in told.values())


if __name__ == "__main__":
    main()
