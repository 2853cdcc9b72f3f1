"""What a segment costs around the engine, and how much of the engine's throughput arrives through the whole system.

    python benchmarks/queue/tickets.py [--segments 1000] [--chars 220] [--slots 16]
    python benchmarks/queue/tickets.py --segments 3000 --chars 192 --slots 256 --step-s 0.017

At step 0 the fake engine takes no time and the figure is CPU per segment. With a step the engine has a speed of its
own, which is measured alone first, in a closed loop over its process boundary; the second line is a large GPU's pace,
150 segments of 8 s a second. The rate through the system is that of the middle three fifths of one long job.

A real Valkey, a folder store, one gpu worker (threads pool at 1.5 x slots) and one cpu worker as the supervisor
starts them. The gpu worker's CPU covers ticket, claim, the engine's socket and commit; that of its post-processors the
verdict, edges, encoding and put (with fsync), which are the worker's own at `--postprocessors 0`. The engine host's and
Valkey's CPU are listed apart. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from pydantic import SecretStr

from reading.estimates import expected_audio_ms
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from rhapsode.contract.jobs.states import JobState, Priority
from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, new_job_id
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_queues import Lane
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.model_registry import ModelRegistry
from storage.runtime.config.settings import StorageSettings
from tests.environment import without_settings
from tests.run_guard import guarded_run
from worker.engine.cores import usable_cores
from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import FakeEngineSettings

TENANT = TenantId("bench")
URL_SECRET = "only-for-this-benchmark"  # noqa: S105
START_TIMEOUT_S = 60.0
WARM_UP_SEGMENTS = 50


@dataclass(frozen=True, slots=True)
class Load:
    segments: int
    chars: int
    slots: int
    step_s: float
    postprocessors: int | None


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds since the start of each process; the post-processors' together."""

    worker: float
    postprocessors: float
    host: float
    valkey: float


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU in milliseconds per segment."""

    segments_per_s: float
    engine_alone_segments_per_s: float | None
    gpu_worker_cpu_ms: float
    postprocessors_cpu_ms: float
    engine_host_cpu_ms: float
    valkey_cpu_ms: float
    audio_s_per_segment: float


class Bench:
    """A client of the system under test."""

    def __init__(self, settings: StorageSettings) -> None:
        self._redis = connect_redis(settings)
        self._artifacts = open_artifacts(settings)
        self._jobs = JobStore(self._redis, settings.key_prefix)
        self._models = ModelRegistry(self._redis, settings.key_prefix)
        self._tickets = TicketQueue(create_celery(settings, "bench"))

    def wait_for_engine(self, log: Path) -> None:
        give_up = time.monotonic() + START_TIMEOUT_S
        while not self._models.list():
            assert time.monotonic() < give_up, f"the worker did not start: {log.read_text()[-500:]}"
            time.sleep(0.1)

    def submit(self, num_segments: int, chars: int) -> JobRecord:
        """A job of paragraphs of `chars` characters, one segment each."""
        text = "\n\n".join(segment_text(chars) for _ in range(num_segments))
        job = new_job_id()
        key = keys.input_text(TENANT, job)
        self._artifacts.put(key, text.encode())
        spec = NarrationSpec(
            Narration(
                model="fake", voice="ada", segmentation=SegmentLengths(target_chars=2 * chars, max_chars=2 * chars)
            )
        )
        estimate = expected_audio_ms(text)
        submission = Submission(job, TENANT, spec, Priority.NORMAL, key, len(text), estimate, retention_s=3600)
        submitted = self._jobs.submit(submission)
        self._tickets.send(submitted.tickets)
        return submitted.job

    def wait_done(self, job: JobRecord, fraction: float = 1.0) -> JobRecord:
        """So much of the segments done. Tickets get lost only when workers die, so no janitor is needed."""
        while True:
            record = self._jobs.get(TENANT, job.id)
            segments = record.segments
            if record.state.is_terminal or (segments.total and segments.done >= fraction * segments.total):
                assert record.state is not JobState.FAILED, record.error
                return record
            time.sleep(0.02)

    def rate_of_the_middle(self, job: JobRecord) -> float:
        """Segments per second from one fifth of the job to four fifths."""
        first, first_s = self.wait_done(job, 0.2).segments.done, time.monotonic()
        last, last_s = self.wait_done(job, 0.8).segments.done, time.monotonic()
        return (last - first) / (last_s - first_s)

    def close(self) -> None:
        self._tickets.close()
        self._redis.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--chars", type=int, default=220)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--step-s", type=float, default=0.0)
    parser.add_argument(
        "--postprocessors", type=int, help="as RHAPSODE_POSTPROCESSORS; unset, as many as a worker takes itself"
    )
    arguments = parser.parse_args()
    load = Load(arguments.segments, arguments.chars, arguments.slots, arguments.step_s, arguments.postprocessors)
    with guarded_run() as folder:
        cost = measure(folder, load)
    print(json.dumps({"load": asdict(load), "cost": asdict(cost), "cores": usable_cores()}, indent=1))


def segment_text(chars: int) -> str:
    return ("A sentence of the book. " * chars)[: chars - 1] + "."


def measure_engine_alone(load: Load) -> float:
    """Segments per second of the engine's process with every slot always taken."""
    engine = EngineProcess(FakeEngineSettings(load.slots, step_s=load.step_s))
    engine.start()
    room = threading.Semaphore(load.slots + load.slots // 2)
    finished_s: list[float] = []

    def speak(number: int) -> None:
        room.acquire()
        future = engine.submit(SpeechRequest(str(number), segment_text(load.chars), BuiltInSpeaker("ada"), seed=number))
        future.add_done_callback(lambda _: (finished_s.append(time.monotonic()), room.release()))

    for number in range(load.segments):
        speak(number)
    while len(finished_s) < load.segments:
        time.sleep(0.01)
    engine.close()
    first, last = load.segments // 5, load.segments * 4 // 5
    return (last - first) / (finished_s[last] - finished_s[first])


def measure(folder: Path, load: Load) -> Cost:
    alone = measure_engine_alone(load) if load.step_s else None
    with EmbeddedRedis(folder / "valkey") as server:
        settings = StorageSettings(
            redis_url=SecretStr(server.url),
            broker_url=SecretStr(server.broker_url),
            store=f"file://{folder}/store",
            url_secret=SecretStr(URL_SECRET),
        )
        bench = Bench(settings)
        concurrency = load.slots * 3 // 2
        with (
            worker(settings, Lane.GPU, concurrency, load, folder) as gpu,
            worker(settings, Lane.CPU, 2, load, folder),
        ):
            bench.wait_for_engine(folder / f"{Lane.GPU.value}.log")
            bench.wait_done(bench.submit(WARM_UP_SEGMENTS, load.chars))
            assert server.pid is not None
            before, job = cpu_times(gpu, server.pid), bench.submit(load.segments, load.chars)
            rate = bench.rate_of_the_middle(job)
            record = bench.wait_done(job)
            after = cpu_times(gpu, server.pid)
        bench.close()
    return Cost(
        segments_per_s=round(rate, 1),
        engine_alone_segments_per_s=alone and round(alone, 1),
        gpu_worker_cpu_ms=per_segment(before.worker, after.worker, load),
        postprocessors_cpu_ms=per_segment(before.postprocessors, after.postprocessors, load),
        engine_host_cpu_ms=per_segment(before.host, after.host, load),
        valkey_cpu_ms=per_segment(before.valkey, after.valkey, load),
        audio_s_per_segment=round(record.samples_done / record.sample_rate_hz / load.segments, 2),
    )


def per_segment(before: float, after: float, load: Load) -> float:
    return round((after - before) * 1000 / load.segments, 2)


def cpu_times(gpu: psutil.Process, valkey_pid: int) -> Cpu:
    hosts, postprocessors = (
        sum(spent(child) for child in gpu.children() if module in child.cmdline())
        for module in ("worker.engine.process.host", "worker.speech.postprocessing.process")
    )
    return Cpu(spent(gpu), postprocessors, hosts, spent(psutil.Process(valkey_pid)))


def spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def worker(
    settings: StorageSettings, lane: Lane, concurrency: int, load: Load, folder: Path
) -> Generator[psutil.Process]:
    """A worker as the supervisor starts it, ended at the end of the block."""
    environment = without_settings(os.environ) | {
        "RHAPSODE_REDIS_URL": settings.redis_url.get_secret_value(),
        "RHAPSODE_BROKER_URL": settings.broker_url.get_secret_value(),
        "RHAPSODE_STORE": settings.store,
        "RHAPSODE_URL_SECRET": URL_SECRET,
        "RHAPSODE_LANE": lane.value,
        "RHAPSODE_ENGINE": "fake",
        "RHAPSODE_FAKE_STEP_S": str(load.step_s),
        "RHAPSODE_SLOTS": str(load.slots),
    }
    if load.postprocessors is not None:
        environment["RHAPSODE_POSTPROCESSORS"] = str(load.postprocessors)
    options = "--without-mingle --without-gossip --without-heartbeat"
    arguments = f"-m celery -A worker.app worker --pool threads --concurrency {concurrency} {options}"
    with (folder / f"{lane.value}.log").open("wb") as log:
        command = [sys.executable, *arguments.split()]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    main()
