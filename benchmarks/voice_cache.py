"""What a cached voice costs to make, to find and to keep.

    python benchmarks/voice_cache.py [--checkpoint DIR] [--size tiny] [--voices 40] [--seconds 5] [--device cpu]
    python benchmarks/voice_cache.py --size 1.7b --voices 400 --seconds 10 --threads 32 --device cuda:0

Without a checkpoint a random one of the published layout and the given size (tiny, 0.6b, 1.7b) is written first; its
speech is noise, its costs are real. Everything runs for real: a Valkey of its own, a folder store, the decoder of
recordings, the engine in its process. Builds go through the queue, one item a voice, on `--threads` threads as in a
worker.

    decode       a FLAC recording to samples, in its limited process
    encode       samples to the engine's prompt, without the queue: one at a time, and all at once
    build        all of it through the queue: claim, decode, encode, store, commit
    load         from the store into memory, checked
    hit          from memory: what a segment pays
    first audio  one short segment: with nothing made, from the store, from memory
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import redis
import soundfile
import torch
from random_checkpoint import write_random_checkpoint

from storage import keys
from storage.connections import connect_redis, open_artifacts
from storage.embedded_redis import EmbeddedRedis
from storage.ids import new_job_id, new_voice_id
from storage.job_states import JobState
from storage.job_store import JobStore
from storage.jobs import TenantId
from storage.plan_cache import PlanCache, VoicePlanCache
from storage.queue import TicketQueue, create_celery
from storage.recordings import DecodedRecording, decode_recording
from storage.result_samples import ResultSamples
from storage.segment_reuse import ReuseIndex
from storage.service_classes import Priority
from storage.settings import StorageSettings
from storage.submissions import Submission
from storage.voice_keys import VoiceKeys
from storage.voice_plan import encode_voice_plan
from storage.voice_reference import CacheMode, SourceKind, VoiceCacheSpec, VoiceReference, VoiceSource
from storage.voice_store import VoiceStore
from storage.voices import Consent, NewVoice
from storage.work_items import Lease, WorkerIdentity
from storage.work_queues import CPU_QUEUE, speech_queue
from worker.claim_ahead import ClaimAhead
from worker.engine.interface import Engine, ReferenceAudio, SpeechRequest
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import NativeEngineSettings
from worker.finishing.own_finisher import OwnFinisher
from worker.items import run_cpu_ticket, run_gpu_ticket
from worker.leases import HeldLease, LeaseKeeper
from worker.norms import NormsCache
from worker.quality.calibration import UNCALIBRATED
from worker.quality.counters import GateCounters
from worker.quality.gate import QualityGate
from worker.quality.verdict import measured_verdict
from worker.quarantine import QuarantineGate
from worker.services import SpeechServices
from worker.voices.cache import VoiceCache
from worker.voices.resolving import VoiceResolver
from worker.voices.voice_files import memory_bytes

ROOT = Path(__file__).resolve().parents[1]
TENANT = TenantId("bench")
MODEL = "bench"
RATE_HZ = 24_000
REF_TEXT = "The wind and the sun were disputing which of them was the stronger."
SENTENCE = "He took it off."
SPOKEN_FRAMES = 12
T = TypeVar("T")


@dataclass(slots=True)
class Times:
    """Of one kind of call, in milliseconds."""

    milliseconds: list[float] = field(default_factory=list)

    def run(self, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        answer = call()
        self.milliseconds.append((time.perf_counter() - start) * 1000)
        return answer

    def figures(self) -> dict[str, float]:
        ordered = sorted(self.milliseconds)
        return {"p50_ms": statistics.median(ordered), "p95_ms": ordered[int(0.95 * (len(ordered) - 1))]}


@dataclass(frozen=True, slots=True)
class Bench:
    services: SpeechServices
    client: redis.Redis
    store: VoiceStore

    def forgetful(self) -> VoiceResolver:
        """A worker that has just started."""
        services = self.services
        return VoiceResolver(self.store, services.artifacts, services.engine, VoiceCache(1 << 30))

    def planner(self) -> SpeechServices:
        """The same worker, on the queue of plans."""
        return replace(self.services, queue=CPU_QUEUE)

    def hold(self) -> HeldLease:
        """For what needs no lease of the store: loads and voices without a record."""
        return HeldLease(Lease(new_job_id(), TENANT, "0", 1), lease_s=30.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--size", default="tiny", choices=("tiny", "0.6b", "1.7b"))
    parser.add_argument("--voices", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each recording")
    parser.add_argument("--threads", type=int, default=4, help="items prepared at the same time")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rhb-") as folder:
        checkpoint = options.checkpoint or write_checkpoint(Path(folder) / options.size, options.size, options.device)
        with bench(Path(folder), checkpoint, options.device, options.threads) as rig:
            result = {
                "machine": platform.machine(),
                "device": options.device,
                "checkpoint": rig.services.engine.info.model,
                "voices": options.voices,
                "recording_s": options.seconds,
                "modes": {
                    mode.value: measure(rig, mode, options.voices, options.seconds, options.threads)
                    for mode in CacheMode
                    if mode.value in {each.value for each in rig.services.engine.info.voice_modes}
                },
            }
    print(json.dumps(result)) if options.json else print_table(result["modes"])


def measure(rig: Bench, mode: CacheMode, num_voices: int, seconds: float, threads: int) -> dict[str, float]:
    with ThreadPoolExecutor() as pool:
        recordings = list(pool.map(partial(recording_of, seconds), range(num_voices)))
    few = recordings[:10]
    decode, encode, load, hit = Times(), Times(), Times(), Times()
    decoded = [decode.run(lambda data=data: decode_recording(data)) for data in few]
    engine = rig.services.engine
    references = [reference_of(each, mode) for each in decoded]
    engine.encode_voice(references[0]).result()  # the first one chooses kernels
    prompts = [encode.run(lambda audio=audio: engine.encode_voice(audio).result()) for audio in references]
    together_per_s = encoded_together_per_s(engine, references, num_voices)
    before = memory_of(rig.client)
    voices = [create_voice(rig, mode, data, f"{mode} {index}") for index, data in enumerate(recordings)]
    built_s = build_all(rig, voices, threads)
    redis_bytes = (memory_of(rig.client) - before) / num_voices
    stored = sum(entry.bytes for entry in rig.services.artifacts.list(f"voice-caches/{TENANT}/")) / num_voices
    worker = rig.forgetful()
    for voice in voices:
        load.run(lambda voice=voice: worker.resolve(voice, rig.hold()))
    held = rig.hold()
    for _ in range(50):
        for voice in voices:
            hit.run(lambda voice=voice: worker.resolve(voice, held))
    rig.services.artifacts.delete_prefix(f"voice-caches/{TENANT}/")
    figures = {
        "decode_ms": decode.figures()["p50_ms"],
        "encode_ms": encode.figures()["p50_ms"],
        "encode_together_voices_per_s": together_per_s,
        "build_voices_per_s": num_voices / built_s,
        "load_ms": load.figures()["p50_ms"],
        "hit_us": 1000 * hit.figures()["p50_ms"],
        "hit_p95_us": 1000 * hit.figures()["p95_ms"],
        "memory_bytes": statistics.mean(map(memory_bytes, prompts)),
        "file_bytes": stored,
        "redis_bytes": redis_bytes,
    }
    return figures | first_audio(rig, mode, seconds)


def reference_of(recording: DecodedRecording, mode: CacheMode) -> ReferenceAudio:
    pcm = np.frombuffer(recording.pcm, np.float32).copy()
    text = REF_TEXT if mode is CacheMode.IN_CONTEXT else None
    return ReferenceAudio(pcm, recording.facts.sample_rate_hz, text)


def encoded_together_per_s(engine: Engine, references: Sequence[ReferenceAudio], num_voices: int) -> float:
    """Voices per second when all of them are asked for at once. Encoding remembers nothing, so a few serve for many."""
    start = time.perf_counter()
    futures = [engine.encode_voice(references[number % len(references)]) for number in range(num_voices)]
    for future in futures:
        future.result()
    return num_voices / (time.perf_counter() - start)


def first_audio(rig: Bench, mode: CacheMode, seconds: float) -> dict[str, float]:
    """One short segment in three states of its voice; the median of five voices each."""
    cold, stored, warm = Times(), Times(), Times()
    for seed in range(5):
        voice = create_voice(rig, mode, recording_of(seconds, 1_000 + seed), f"{mode} first {seed}")
        fresh = rig.forgetful()
        cold.run(lambda fresh=fresh, voice=voice: speak(rig, fresh, voice))
        warm.run(lambda fresh=fresh, voice=voice: speak(rig, fresh, voice))
        build_all(rig, [voice], 1)
        stored.run(lambda voice=voice: speak(rig, rig.forgetful(), voice))
    return {
        "first_audio_cold_ms": cold.figures()["p50_ms"],
        "first_audio_stored_ms": stored.figures()["p50_ms"],
        "first_audio_warm_ms": warm.figures()["p50_ms"],
    }


def speak(rig: Bench, resolver: VoiceResolver, voice: VoiceReference) -> None:
    prompt = resolver.resolve(voice, rig.hold())
    request = SpeechRequest(str(time.monotonic_ns()), SENTENCE, prompt, max_frames=SPOKEN_FRAMES)
    rig.services.engine.submit(request).result()


def build_all(rig: Bench, voices: Sequence[VoiceReference], threads: int) -> float:
    """Seconds from the job's submission until the last of its voices is ready."""
    job = new_job_id()
    input_key = keys.voice_list(TENANT, job)
    rig.services.artifacts.put(input_key, encode_voice_plan(voices))
    spec = VoiceCacheSpec(MODEL, rig.services.engine.info.revision, len(voices))
    wanted = Submission(job, TENANT, spec, Priority.LOW, input_key, 0, 0, retention_s=3_600)
    start = time.perf_counter()
    rig.services.jobs.submit(wanted)
    run_cpu_ticket(rig.planner())
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: run_gpu_ticket(rig.services), range(threads)))
        while not (record := rig.services.jobs.get(TENANT, job)).state.is_terminal:
            list(pool.map(lambda _: run_gpu_ticket(rig.services), range(threads)))
    if record.state is not JobState.SUCCEEDED:
        raise SystemExit(f"the voices were not built: {record.error}")
    return time.perf_counter() - start


def create_voice(rig: Bench, mode: CacheMode, recording: bytes, name: str) -> VoiceReference:
    voice = new_voice_id()
    stored = rig.services.artifacts.put(keys.voice_source(TENANT, voice, "1"), recording)
    source = VoiceSource(SourceKind.RECORDING, stored.key, stored.sha256, stored.bytes, "audio/flac")
    text = REF_TEXT if mode is CacheMode.IN_CONTEXT else ""
    consent = Consent("a synthetic tone", TENANT, 0)
    rig.store.create(NewVoice(voice, TENANT, name, source, REF_TEXT, consent=consent))
    return VoiceReference(voice, name, 1, MODEL, mode, source, text)


@cache
def recording_of(seconds: float, seed: int) -> bytes:
    """A voice-like buzz that is different for every seed, as FLAC."""
    generator = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    pitch = 90 + 5 * (seed % 40)
    buzz = sum(np.sin(2 * np.pi * pitch * n * t + 3 * np.sin(2 * np.pi * 4 * t)) / n for n in range(1, 12))
    pcm = 0.15 * buzz * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)) + 0.01 * generator.standard_normal(t.size)
    file = io.BytesIO()
    soundfile.write(file, np.clip(pcm, -1, 1), RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def memory_of(client: redis.Redis) -> int:
    """Bytes of everything that is kept about voices."""
    return sum(
        int(client.memory_usage(key, samples=0) or 0) for key in client.scan_iter(f"{VoiceKeys('rhapsode').root}:*")
    )


def write_checkpoint(path: Path, size: str, device: str) -> Path:
    if torch.device(device).type == "cuda":  # drawn there, seconds instead of minutes
        write_random_checkpoint(path, size, "base", torch.device(device), eos_gain=0.0)
        return path
    command = [sys.executable, str(ROOT / "tests" / "parity" / "make_checkpoint.py"), str(path)]
    subprocess.run([*command, "--size", size, "--variant", "base", "--seed", "3"], check=True, capture_output=True)
    return path


@contextmanager
def bench(folder: Path, checkpoint: Path, device: str, threads: int) -> Generator[Bench]:
    with EmbeddedRedis(folder / "valkey") as server:
        settings = StorageSettings(
            redis_url=server.url,
            broker_url=server.broker_url,
            store=f"file://{folder}/store",
            url_secret="of a benchmark, and of no use elsewhere",  # noqa: S106
        )
        client = connect_redis(settings)
        tickets = TicketQueue(create_celery(settings, "benchmark"))
        jobs, artifacts = JobStore(client), open_artifacts(settings)
        leases, store = LeaseKeeper(jobs, lease_s=30.0), VoiceStore(client)
        engine = EngineProcess(NativeEngineSettings(checkpoint, slots=4, device=device))
        engine.start()
        services = SpeechServices(
            identity=WorkerIdentity("benchmark", "1"),
            queue=speech_queue(MODEL),
            jobs=jobs,
            artifacts=artifacts,
            tickets=tickets,
            leases=leases,
            plans=PlanCache(artifacts),
            voice_store=store,
            voice_plans=VoicePlanCache(artifacts),
            lease_s=30.0,
            closing=threading.Event(),
            gate=QuarantineGate(),
            engine=engine,
            ahead=ClaimAhead(engine.info.slots),
            voices=VoiceResolver(store, artifacts, engine, VoiceCache(64 << 20), places=threads),
            quality=QualityGate(UNCALIBRATED, {}, measured_verdict),
            counters=GateCounters(),
            norms=NormsCache(ResultSamples(client), engine.info.sample_rate_hz),
            reuse=ReuseIndex(client),
            finisher=OwnFinisher(artifacts),
        )
        leases.start()
        try:
            yield Bench(services, client, store)
        finally:
            leases.close()
            engine.close()
            tickets.close()
            client.close()


def print_table(modes: dict[str, dict[str, float]]) -> None:
    print(f"{'':<24}" + "".join(f"{mode:>14}" for mode in modes))
    for name in next(iter(modes.values())):
        print(f"{name:<24}" + "".join(f"{figures[name]:>14.4g}" for figures in modes.values()))


if __name__ == "__main__":
    main()
