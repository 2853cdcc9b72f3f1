"""Objects that the segments of long jobs lie in, on an S3 server, by how many jobs share the worker.

    python -m benchmarks.queue.segment_packs [--jobs 1 8 64] [--segments 512] [--slots 128] [--wait-s 0 1]

A stack (the engine `fake` at the pace of a large model: a step of 23 ms for all its slots, segments of 4 to 20 s)
speaks so many jobs at a time, which have so many segments together; once for each time that a segment may wait for its
pack, where 0 is as it was before there were packs. Every object is one PUT. Prints a row for each number of jobs:
segments finished in a second in the middle of it, their objects and megabytes, what of that are indexes, and the
time from start to end.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from dataclasses import dataclass
from itertools import count, cycle, islice

import httpx
import redis

from rhapsode.contract.jobs.states import JobState
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.objects import keys
from storage.objects.s3_client import connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import ArtifactStore
from storage.objects.stored_segments import segment_key
from storage.segments.packs import INDEX_BYTES
from tests.environment import without_settings
from tests.run_guard import guarded_run
from tests.storage.objects.embedded_s3 import BUCKET, REGION, EmbeddedS3

TENANT = TenantId("local")
SENTENCE = "Long ago in a house at the edge of the wood there lived a man who mended clocks for all of the valley,"
WORDS_OF_SEGMENT = (20, 100)
"""Of different lengths, as sentences are: else all of an engine's slots end at once, which none does that speaks."""

LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all jobs together. packed: segments that lie with others. packs, stored_bytes: of `objects`."""

    segments: int
    packed: int
    objects: int
    packs: int
    stored_bytes: int
    middle_per_s: float
    wall_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 8, 64], help="at a time")
    parser.add_argument("--segments", type=int, default=512, help="of all jobs together")
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--step-s", type=float, default=0.023)
    parser.add_argument("--wait-s", type=float, nargs="+", default=[0.0, 1.0])
    arguments = parser.parse_args()

    print(HEADINGS)
    for wait_s in arguments.wait_s:
        measure_waiting(wait_s, arguments)


HEADINGS = (
    f"{'wait s':>6}{'jobs':>6}{'segments':>10}{'per s':>9}{'PUTs':>7}{'packs':>7}{'packed':>8}{'MB':>8}"
    f"{'indexes':>9}{'wall s':>8}"
)


def measure_waiting(wait_s: float, arguments: argparse.Namespace) -> None:
    environment = without_settings(os.environ)
    environment |= {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(arguments.step_s)}
    environment |= {"RHAPSODE_PACK_WAIT_S": str(wait_s)}
    with guarded_run() as folder, EmbeddedS3(folder / "s3") as server:
        environment |= {
            "RHAPSODE_STORE": f"s3://{BUCKET}",
            "RHAPSODE_S3_ENDPOINT_URL": server.endpoint_url,
            "RHAPSODE_S3_REGION": REGION,
            **server.environment,
        }
        options = StackOptions(folder, slots=arguments.slots, devices=("cpu",), api_processes=1, cpu_workers=1)
        client = connect_s3(server.endpoint_url, REGION, *server.credentials)
        with Stack(options, environment, lambda _: None) as stack:
            stack.wait_ready()
            with redis.Redis.from_url(EmbeddedRedis(DataDir(folder).valkey).url, decode_responses=True) as state:
                rig = Rig(stack.url, JobStore(state), S3ArtifactStore(client, BUCKET, ""))
                for number in arguments.jobs:
                    report(wait_s, number, measure(rig, number, arguments.segments // number))
        client.close()


@dataclass(frozen=True, slots=True)
class Rig:
    url: str
    jobs: JobStore
    artifacts: ArtifactStore


def measure(rig: Rig, num_jobs: int, num_segments: int) -> Figures:
    begun_s = time.monotonic()
    with httpx.Client(base_url=rig.url, timeout=60) as http:
        jobs = [submit(http, num_segments) for _ in range(num_jobs)]
    middle_per_s = watched_to_their_ends(rig, jobs)
    wall_s = time.monotonic() - begun_s
    segments = packed = objects = packs = stored_bytes = 0
    for job in jobs:
        results = rig.jobs.segment_results(TENANT, job)
        entries = [
            *rig.artifacts.list(keys.segments_prefix(TENANT, job)),
            *rig.artifacts.list(keys.packs_prefix(TENANT, job)),
        ]
        if {segment_key(TENANT, job, each) for each in results} != {entry.key for entry in entries}:
            raise RuntimeError(f"objects of {job} that no segment lies in")
        segments += len(results)
        packed += sum(each.place is not None for each in results)
        objects += len(entries)
        packs += len({each.place.pack for each in results if each.place})
        stored_bytes += sum(entry.bytes for entry in entries)
    return Figures(segments, packed, objects, packs, stored_bytes, middle_per_s, wall_s)


NUMBERS = count()
"""So that no text is spoken before, whose copy would be stored instead."""


def submit(http: httpx.Client, num_segments: int) -> JobId:
    paragraphs = [paragraph(next(NUMBERS)) for _ in range(num_segments)]
    body = {"input": {"text": "\n\n".join(paragraphs)}, "voice": "ada", "seed": 1, "reuse": False}
    return JobId(http.post("/v1/jobs", json=body).raise_for_status().json()["id"])


def paragraph(number: int) -> str:
    """The same of every run."""
    num_words = random.Random(number).randint(*WORDS_OF_SEGMENT)
    return f"{' '.join(islice(cycle(SENTENCE.split()), num_words))} said {number}."


def watched_to_their_ends(rig: Rig, jobs: list[JobId]) -> float:
    """Segments finished in a second from a tenth to nine tenths of all: without plans, first words and assemblies."""
    seen: list[tuple[float, int]] = []
    while True:
        records = [rig.jobs.get(TENANT, job) for job in jobs]
        if wrong := [each for each in records if each.state.is_terminal and each.state is not JobState.SUCCEEDED]:
            raise RuntimeError(f"a job did not succeed: {wrong[0].error}")
        seen.append((time.monotonic(), sum(each.segments.done for each in records)))
        if all(each.state.is_terminal for each in records):
            break
        time.sleep(LOOK_S)
    total = seen[-1][1]
    middle = [(at_s, done) for at_s, done in seen if total / 10 <= done <= total * 9 / 10]
    (first_s, first), (last_s, last) = middle[0], middle[-1]
    return (last - first) / (last_s - first_s)


def report(wait_s: float, number: int, figures: Figures) -> None:
    print(
        f"{wait_s:>6g}{number:>6}{figures.segments:>10,}{figures.middle_per_s:>9.1f}{figures.objects:>7,}{figures.packs:>7,}"
        f"{figures.packed:>8,}{figures.stored_bytes / 1e6:>8.1f}{figures.packs * INDEX_BYTES / 1e6:>9.2f}"
        f"{figures.wall_s:>8.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
