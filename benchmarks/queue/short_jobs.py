"""What a short job costs beside its speech: CPU of each process, commands of Valkey, objects.

    python benchmarks/queue/short_jobs.py [--jobs 200] [--rounds 4] [--clients 8] [--s3]

A stack (the engine without a model, one API, one CPU worker, a folder store or with `--s3` an S3 server) speaks jobs of
one segment over HTTP with `Prefer: wait`. Then it fetches the WAV by the link of the answer, or with `--by-name` by its
name, which is one request more. A whole job is one item; the same with `timestamps` is planned, spoken and assembled by
three, and has one file more. Both kinds take turns in one run, so that what else the machine does meets both: shares
can be believed where milliseconds cannot. The S3 server counts among `others`; its objects do not count. Commands are
Valkey's own count, those of idle processes among them. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path

import httpx

from benchmarks.rig import calls_and_commands, cpu_taken_ms, fake_engine, parser, running_stack, valkey_of
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.run_guard import guarded_run
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3

STEP_S = 0.001
SLOTS = 64
WARM_UP_JOBS = 40
KINDS: dict[str, dict[str, object]] = {"one_item": {}, "three_items": {"output": {"timestamps": "segment"}}}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=200, help="of each kind in a round")
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--by-name", action="store_true", help="ask for the WAV by its name, not by the answer's link")
    options.add_argument("--s3", action="store_true", help="keep objects in an S3 server, not in a folder")
    given = options.parse_args()
    with guarded_run() as folder, kept_objects(folder, given) as store:
        stack_options = StackOptions(folder, slots=SLOTS, devices=("cpu",), api_processes=1, cpu_workers=1)
        with running_stack(stack_options, {**fake_engine(STEP_S), **store}) as stack:
            print(json.dumps(measure(stack, folder, given), indent=1))


@contextmanager
def kept_objects(folder: Path, given: argparse.Namespace) -> Generator[dict[str, str]]:
    """The settings of the store; none for the stack's own folder."""
    if not given.s3:
        yield {}
        return
    with EmbeddedS3(folder / "s3") as server:
        address = {"RHAPSODE_STORE": f"s3://{BUCKET}", "RHAPSODE_S3_ENDPOINT_URL": server.endpoint_url}
        yield {**address, **server.environment}


def measure(stack: Stack, folder: Path, given: argparse.Namespace) -> dict[str, object]:
    numbers, spent = count(), {kind: Counter[str]() for kind in KINDS}
    with httpx.Client(base_url=stack.url, timeout=100, limits=httpx.Limits(max_connections=given.clients)) as http:
        for kind in KINDS:
            speak(http, kind, list(islice(numbers, WARM_UP_JOBS)), given)
        for turn in range(given.rounds):
            for kind in sorted(KINDS, reverse=bool(turn % 2)):
                before = taken(folder)
                speak(http, kind, list(islice(numbers, given.jobs)), given)
                spent[kind].update(taken(folder) - before)
    per_job = given.jobs * given.rounds
    rows = {kind: {name: round(total / per_job, 2) for name, total in spent[kind].items()} for kind in KINDS}
    one, three = rows["one_item"], rows["three_items"]
    shares = {name: round(one.get(name, 0) / value, 2) for name, value in three.items() if value}
    return {"jobs_of_a_kind": per_job, **rows, "shares": shares}


def speak(http: httpx.Client, kind: str, numbers: Sequence[int], given: argparse.Namespace) -> None:
    """One job for each number, by so many clients at a time."""
    with ThreadPoolExecutor(given.clients) as threads:
        list(threads.map(partial(ask, http, kind, by_name=given.by_name), numbers))


def ask(http: httpx.Client, kind: str, number: int, *, by_name: bool) -> None:
    text = f"The lamp went out at nine, and nobody came, said {number}."
    body = {"input": {"text": text}, "voice": "ada", "seed": number, **KINDS[kind]}
    answer = http.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).raise_for_status().json()
    if answer["state"] != "succeeded":
        raise RuntimeError(f"a job did not succeed: {answer}")
    link = next(made["url"] for made in answer["artifacts"] if made["name"] == "narration.wav")
    path = f"/v1/jobs/{answer['id']}/artifacts/narration.wav" if by_name else link
    http.get(path, follow_redirects=by_name).raise_for_status()


def taken(folder: Path) -> Counter[str]:
    """What the stack has used so far: ms of CPU by process and all together, commands of Valkey, objects."""
    found = Counter({f"{kind}_ms": ms for kind, ms in cpu_taken_ms().items()})
    with valkey_of(folder) as client:
        found["valkey_commands"] = calls_and_commands(client)[1]
    found["objects"] = sum(1 for path in DataDir(folder).objects.rglob("*") if path.is_file())
    return found


if __name__ == "__main__":
    main()
