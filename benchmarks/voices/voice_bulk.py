"""Ten thousand voices made ready by one job, and what a short job notices of it.

    python benchmarks/voices/voice_bulk.py [--voices 10000] [--slots 16] [--seconds 0] [--checkpoint DIR]

A real stack (Valkey, API, workers, janitor, a folder store), with the engine without a model unless a checkpoint is
given. The voices are embeddings, written straight into the stores; with `--seconds`, recordings of that length, each
with different content, which the workers decode. Prints one JSON object:

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

import io
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import redis
import soundfile

from benchmarks.rig import as_environment, fake_engine, parser, running_stack, settings_of
from rhapsode import Rhapsode
from rhapsode.client.voices.orders import BulkOrder
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import parse_devices
from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import JobId, TenantId, new_voice_id
from storage.job_store.store import JobStore
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.voices.records import Consent, VoiceCreation
from storage.voices.store import VoiceStore
from tests.run_guard import guarded_run
from tests.storage.job_store.event_log import EventLog

TENANT = TenantId("local")
SENTENCE = "A short sentence is spoken."
NUM_IDLE = 10
RATE_HZ = 24_000


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--voices", type=int, default=10_000)
    options.add_argument("--slots", type=int, default=16)
    options.add_argument("--seconds", type=float, default=0.0, help="length of the recordings; 0 for embeddings")
    options.add_argument("--checkpoint", type=Path, help="of a real engine")
    options.add_argument("--device", default="cpu")
    given = options.parse_args()
    with guarded_run() as folder, EmbeddedRedis(folder / "valkey") as server:
        settings = settings_of(server, f"file://{folder}/store")
        environment = fake_engine(0) | as_environment(settings)
        stack_options = StackOptions(folder / "data", slots=given.slots)
        if given.checkpoint is not None:
            del environment["RHAPSODE_ENGINE"]
            devices = parse_devices("--device", given.device)
            stack_options = replace(stack_options, checkpoint=given.checkpoint.resolve(), devices=devices)
        with (
            running_stack(stack_options, environment) as stack,
            Rhapsode(stack.url) as client,
            connect_redis(settings) as state,
        ):
            card = ModelRegistry(state, settings.key_prefix).list()[0]
            idle = [speak_s(client) for _ in range(NUM_IDLE)]
            empty = used_bytes(state)
            create_voices(VoiceStore(state), open_artifacts(settings), sources(given.voices, given.seconds, card))
            with_voices = used_bytes(state)
            bulk = measure_bulk(client, state, given.voices)
            cache_bytes = (used_bytes(state) - with_voices) / given.voices
    facts = {"voices": given.voices, "recording_s": given.seconds, "slots": given.slots}
    of_redis = {"voice": round((with_voices - empty) / given.voices), "cache": round(cache_bytes)}
    print(json.dumps({**facts, "short_idle_s": latency(idle), **bulk, "redis_bytes": of_redis}, indent=1))


def sources(count: int, seconds: float, card: ModelCard) -> Iterator[tuple[SourceKind, bytes, str, str]]:
    """Kind, content (each its own), media type and model."""
    generator = np.random.default_rng(0)
    recording = recording_of(seconds) if seconds else b""
    for number in range(count):
        if seconds:
            yield SourceKind.RECORDING, recording + b"%d" % number, "audio/flac", ""
        else:
            values = generator.standard_normal(card.speaker_dim).astype("<f4")
            yield SourceKind.EMBEDDING, values.tobytes(), "application/octet-stream", card.name


def recording_of(seconds: float) -> bytes:
    """A voice-like buzz as FLAC."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    buzz = sum(np.sin(2 * np.pi * 90 * n * t + 3 * np.sin(2 * np.pi * 4 * t)) / n for n in range(1, 12))
    file = io.BytesIO()
    pcm = np.clip(0.15 * buzz * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)), -1, 1)
    soundfile.write(file, pcm, RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def create_voices(
    voices: VoiceStore, objects: ArtifactStore, wanted: Iterator[tuple[SourceKind, bytes, str, str]]
) -> None:
    """As `POST /v1/voices` leaves them."""
    consent = Consent("a benchmark", TENANT, 0)
    for number, (kind, data, media_type, model) in enumerate(wanted):
        voice = new_voice_id()
        stored = objects.put(keys.voice_source(TENANT, voice, "1"), data)
        kept = VoiceSource(kind, stored.key, stored.sha256, stored.bytes, media_type, model)
        voices.create(VoiceCreation(voice, TENANT, f"voice {number}", kept, consent=consent))


def measure_bulk(client: Rhapsode, state: redis.Redis, count: int) -> dict[str, object]:
    jobs, started_s = JobStore(state), time.perf_counter()
    job = client.voices.prepare_many(BulkOrder())
    order_s = time.perf_counter() - started_s
    planned_s, most_open, meanwhile = 0.0, 0, list[float]()
    while not job.finished_at:
        # Claimable items of every queue; those under lease are at most as many as there are threads.
        open_items = max(jobs.ready_counts().values(), default=0) + (job.progress.segments.running or 0)
        most_open = max(most_open, open_items)
        if not planned_s and job.progress.segments.total:
            planned_s = time.perf_counter() - started_s
        meanwhile.append(speak_s(client))
        job = client.job(job.id)
    wall_s = time.perf_counter() - started_s
    job.raise_unless_succeeded()
    if job.progress.segments.done != count:
        raise SystemExit("some voices are missing")
    events = EventLog(state).read(JobId(job.id))
    ended_ms = [event.at_ms for event in events if event.type == "job.segment.completed"]
    return {
        "order_s": round(order_s, 3),
        "planned_s": round(planned_s, 3),
        "wall_s": round(wall_s, 1),
        "voices_per_s": round(count / wall_s, 1),
        "last_hundred_s": round((ended_ms[-1] - ended_ms[-min(101, len(ended_ms))]) / 1000, 2),
        "most_open": most_open,
        "short_meanwhile_s": latency(meanwhile),
    }


def speak_s(client: Rhapsode) -> float:
    """Seconds from the submission of one sentence to its finished file."""
    started_s = time.perf_counter()
    client.wait(client.submit_job(SENTENCE)).raise_unless_succeeded()
    return time.perf_counter() - started_s


def latency(samples: list[float]) -> dict[str, float]:
    return {
        "jobs": len(samples),
        "median_s": round(statistics.median(samples), 3),
        "slowest_s": round(max(samples), 3),
    }


def used_bytes(state: redis.Redis) -> int:
    return int(state.info("memory")["used_memory"])


if __name__ == "__main__":
    main()
