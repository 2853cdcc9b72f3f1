"""Objects that the segments of long jobs lie in, on an S3 server, by how many jobs share the worker.

    python -m benchmarks.queue.segment_packs [--jobs 1 8 64] [--segments 512] [--slots 128] [--step-s 0.023]

A stack (the engine `fake` at the pace of a large model: a step of 23 ms for all its slots, segments of 15 s) speaks
so many jobs at a time, which have so many segments together. Every object is one PUT, and a segment by itself was one
before there were packs. Prints a row for each number of jobs: segments finished in a second and job, their objects and
bytes by themselves and as they lie, what of that are indexes, and the time that the jobs took start to end.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from itertools import count

import httpx
import redis

from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.objects import keys
from storage.objects.embedded_s3 import BUCKET, REGION, EmbeddedS3
from storage.objects.s3_client import connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import ArtifactStore
from storage.objects.stored_segments import segment_key
from storage.segments.packs import INDEX_BYTES
from tests.environment import without_settings
from tests.run_guard import guarded_run

TENANT = TenantId("local")
SENTENCE = "Long ago in a house at the edge of the wood there lived a man who mended clocks for all of the valley, "
SENTENCES_OF_SEGMENT = 3
LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all jobs together. alone_bytes: of the segments' files. packed: segments that lie with others."""

    segments: int
    packed: int
    objects: int
    packs: int
    alone_bytes: int
    stored_bytes: int
    wall_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 8, 64], help="at a time")
    parser.add_argument("--segments", type=int, default=512, help="of all jobs together")
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--step-s", type=float, default=0.023)
    arguments = parser.parse_args()

    environment = without_settings(os.environ)
    environment |= {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(arguments.step_s)}
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
                print(HEADINGS)
                for number in arguments.jobs:
                    report(number, measure(rig, number, arguments.segments // number))
        client.close()


HEADINGS = (
    f"{'jobs':>5}{'segments':>10}{'/s and job':>12}{'PUTs alone':>12}{'PUTs':>7}{'packs':>7}{'packed':>8}"
    f"{'MB alone':>10}{'MB':>8}{'indexes':>9}{'wall s':>8}"
)


@dataclass(frozen=True, slots=True)
class Rig:
    url: str
    jobs: JobStore
    artifacts: ArtifactStore


def measure(rig: Rig, num_jobs: int, num_segments: int) -> Figures:
    begun_s = time.monotonic()
    with httpx.Client(base_url=rig.url, timeout=60) as http:
        jobs = [submit(http, num_segments) for _ in range(num_jobs)]
        for job in jobs:
            wait(http, job)
    wall_s = time.monotonic() - begun_s
    segments = packed = objects = packs = alone_bytes = stored_bytes = 0
    for job in jobs:
        results = rig.jobs.segment_results(TENANT, job)
        entries = [
            *rig.artifacts.list(keys.segments_prefix(TENANT, job)),
            *rig.artifacts.list(keys.packs_prefix(TENANT, job)),
        ]
        if {segment_key(TENANT, job, each) for each in results} != {entry.key for entry in entries}:
            raise RuntimeError(f"objects of {job} that no segment lies in")
        in_packs = len({each.place.pack for each in results if each.place})
        segments += len(results)
        packed += sum(each.place is not None for each in results)
        objects += len(entries)
        packs += in_packs
        stored_bytes += sum(entry.bytes for entry in entries)
        alone_bytes += sum(entry.bytes for entry in entries) - in_packs * INDEX_BYTES
    return Figures(segments, packed, objects, packs, alone_bytes, stored_bytes, wall_s)


NUMBERS = count()
"""So that no text is spoken before, whose copy would be stored instead."""


def submit(http: httpx.Client, num_segments: int) -> JobId:
    paragraphs = [f"{SENTENCE * SENTENCES_OF_SEGMENT}said {next(NUMBERS)}." for _ in range(num_segments)]
    body = {"input": {"text": "\n\n".join(paragraphs)}, "voice": "ada", "seed": 1, "reuse": False}
    return JobId(http.post("/v1/jobs", json=body).raise_for_status().json()["id"])


def wait(http: httpx.Client, job: JobId) -> None:
    while (answer := http.get(f"/v1/jobs/{job}").raise_for_status().json())["state"] != "succeeded":
        if answer["state"] in {"failed", "cancelled", "expired"}:
            raise RuntimeError(f"a job did not succeed: {answer}")
        time.sleep(LOOK_S)


def report(number: int, figures: Figures) -> None:
    rate = figures.segments / figures.wall_s / number
    print(
        f"{number:>5}{figures.segments:>10,}{rate:>12.1f}{figures.segments:>12,}{figures.objects:>7,}"
        f"{figures.packs:>7,}{figures.packed:>8,}{figures.alone_bytes / 1e6:>10.1f}{figures.stored_bytes / 1e6:>8.1f}"
        f"{figures.packs * INDEX_BYTES / 1e6:>9.2f}{figures.wall_s:>8.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
