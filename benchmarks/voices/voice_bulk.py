"""Ten thousand voices made ready by one job, and what a short job notices of it.

    python benchmarks/voices/voice_bulk.py [--voices 10000] [--slots 16] [--seconds 0]

A real stack (Valkey, API, workers, janitor, a folder store) with the fake engine, so that the queue is what is
measured. The voices are embeddings, written straight into the stores; with `--seconds`, recordings of that length,
each of a content of its own, which the workers decode. Prints one JSON object:

    order_s            from the order over HTTP to its answer
    planned_s          until every cache is pending and the first items may be claimed
    voices_per_s       from the order to the last ready cache
    last_hundred_s     of that, what the last hundred voices took
    most_open          items of the job that Redis ever held in lists or under lease (sampled)
    short_idle_s       a job of one sentence on the idle system, median and slowest of ten
    short_meanwhile_s  the same while the voices are made ready, one after the other
    redis_bytes        of a voice, and of its cache on top
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import redis
from pydantic import SecretStr

from benchmarks.voices.voice_rig import recording_of
from rhapsode import Job, Rhapsode
from rhapsode.client.voices.cache_calls import BulkOrder
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId, TenantId, new_voice_id
from storage.job_store.events import EventLog
from storage.job_store.following.event import JobEvent
from storage.job_store.store import JobStore
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.runtime.config.settings import StorageSettings
from storage.voices.records import Consent, NewVoice
from storage.voices.store import VoiceStore
from tests.environment import without_settings
from tests.run_guard import guarded_run
from worker.engine.cores import usable_cores

TENANT = TenantId("local")
SENTENCE = "A short sentence is spoken."
SIGNING = "signs-links-of-a-benchmark"
NUM_IDLE = 10


@dataclass(frozen=True, slots=True)
class Source:
    kind: SourceKind
    data: bytes
    media_type: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class Latency:
    jobs: int
    median_s: float
    slowest_s: float


@dataclass(frozen=True, slots=True)
class Bulk:
    order_s: float
    planned_s: float
    wall_s: float
    voices_per_s: float
    last_hundred_s: float
    most_open: int
    short_meanwhile_s: Latency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voices", type=int, default=10_000)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.0, help="length of the recordings; 0 for embeddings")
    arguments = parser.parse_args()
    with _system(arguments.slots) as (settings, stack), Rhapsode(stack.url) as client, connect_redis(settings) as state:
        card = ModelRegistry(state, settings.key_prefix).list()[0]
        idle = _latency([_speak_s(client) for _ in range(NUM_IDLE)])
        empty = _used_bytes(state)
        started_s = time.perf_counter()
        create_voices(VoiceStore(state), open_artifacts(settings), sources(arguments.voices, arguments.seconds, card))
        created_s = time.perf_counter() - started_s
        with_voices = _used_bytes(state)
        bulk = measure_bulk(client, JobStore(state), EventLog(state), arguments.voices)
        with_caches = _used_bytes(state)
        report = {
            "machine": f"{platform.machine()}, {usable_cores()} cores",
            "voices": arguments.voices,
            "recording_s": arguments.seconds,
            "slots": arguments.slots,
            "created_s": round(created_s, 1),
            "short_idle_s": asdict(idle),
            **asdict(bulk),
            "redis_bytes": {
                "voice": round((with_voices - empty) / arguments.voices),
                "cache": round((with_caches - with_voices) / arguments.voices),
            },
        }
    print(json.dumps(report, indent=1))


def sources(count: int, seconds: float, card: ModelCard) -> Iterator[Source]:
    """Each of a content of its own."""
    generator = np.random.default_rng(0)
    if not seconds:
        draws = generator.standard_normal((count, card.speaker_dim)).astype("<f4")
        return (
            Source(SourceKind.EMBEDDING, values.tobytes(), "application/octet-stream", card.name) for values in draws
        )
    recording = recording_of(seconds, 0)
    return (Source(SourceKind.RECORDING, recording + b"%d" % number, "audio/flac") for number in range(count))


def create_voices(voices: VoiceStore, objects: ArtifactStore, wanted: Iterable[Source]) -> None:
    """As `POST /v1/voices` leaves them."""
    consent = Consent("a benchmark", TENANT, 0)
    for number, source in enumerate(wanted):
        voice = new_voice_id()
        stored = objects.put(keys.voice_source(TENANT, voice, "1"), source.data)
        kept = VoiceSource(source.kind, stored.key, stored.sha256, stored.bytes, source.media_type, source.model)
        voices.create(NewVoice(voice, TENANT, f"voice {number}", kept, consent=consent))


def measure_bulk(client: Rhapsode, jobs: JobStore, events: EventLog, count: int) -> Bulk:
    started_s = time.perf_counter()
    ordered = client.voices.prepare_many(BulkOrder())
    order_s = time.perf_counter() - started_s
    planned_s = 0.0
    most_open = 0
    meanwhile: list[float] = []
    job = ordered
    while not job.finished_at:
        most_open = max(most_open, _open_items(jobs, job))
        if not planned_s and job.progress.segments.total:
            planned_s = time.perf_counter() - started_s
        meanwhile.append(_speak_s(client))
        job = client.job(job.id)
    wall_s = time.perf_counter() - started_s
    job.raise_unless_succeeded()
    assert job.progress.segments.done == count, "some voices are missing"
    return Bulk(
        order_s=round(order_s, 3),
        planned_s=round(planned_s, 3),
        wall_s=round(wall_s, 1),
        voices_per_s=round(count / wall_s, 1),
        last_hundred_s=round(last_hundred_s(events.read(JobId(job.id))), 2),
        most_open=most_open,
        short_meanwhile_s=_latency(meanwhile),
    )


def last_hundred_s(events: Sequence[JobEvent]) -> float:
    ended_ms = [event.at_ms for event in events if event.type == "job.segment.completed"]
    return (ended_ms[-1] - ended_ms[-min(101, len(ended_ms))]) / 1000


def _open_items(jobs: JobStore, job: Job) -> int:
    """Claimable items of every queue; those under lease are at most as many as there are threads."""
    return max(jobs.ready_counts().values(), default=0) + (job.progress.segments.running or 0)


def _speak_s(client: Rhapsode) -> float:
    """Seconds from the submission of one sentence to its finished file."""
    started_s = time.perf_counter()
    client.wait(client.submit_job(SENTENCE)).raise_unless_succeeded()
    return time.perf_counter() - started_s


def _latency(samples: list[float]) -> Latency:
    return Latency(len(samples), round(statistics.median(samples), 3), round(max(samples), 3))


def _used_bytes(state: redis.Redis) -> int:
    return int(state.info("memory")["used_memory"])


@contextmanager
def _system(slots: int) -> Generator[tuple[StorageSettings, Stack]]:
    with guarded_run() as folder, EmbeddedRedis(folder / "valkey") as server:
        store = f"file://{folder}/store"
        environment = without_settings(os.environ)
        environment |= {
            "RHAPSODE_ENGINE": "fake",
            "RHAPSODE_REDIS_URL": server.url,
            "RHAPSODE_BROKER_URL": server.broker_url,
            "RHAPSODE_STORE": store,
            "RHAPSODE_URL_SECRET": SIGNING,
        }
        settings = StorageSettings(
            redis_url=SecretStr(server.url),
            broker_url=SecretStr(server.broker_url),
            store=store,
            url_secret=SecretStr(SIGNING),
        )
        with Stack(StackOptions(folder / "data", slots=slots), environment, lambda event: None) as stack:
            stack.wait_ready()
            yield settings, stack


if __name__ == "__main__":
    main()
