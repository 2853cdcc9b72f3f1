"""What the engine's process boundary costs: CPU per request, with the fake engine, at a given concurrency.

    python benchmarks/engine/engine_process.py [--concurrency 64] [--requests 3000] [--chars 220]

The same requests go to a FakeEngine in this process and to one behind EngineProcess; the difference of all CPU
spent (this process and the host) is the price of the boundary. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from benchmarks.process_figures import cpu_s
from rhapsode.bench.statistics import percentile
from worker.engine.cores import usable_cores
from worker.engine.fake import FakeEngine
from worker.engine.interface import BuiltInSpeaker, Engine, SpeechRequest
from worker.engine.process.engine_process import EngineProcess
from worker.engine.settings import FakeEngineSettings

STEP_S = 0.005


@dataclass(frozen=True, slots=True)
class Load:
    """One closed loop: each of `concurrency` threads sends its next request when its last one is answered."""

    concurrency: int
    requests: int
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU in milliseconds per request; latency as the caller sees it."""

    requests_per_s: float
    caller_cpu_ms: float
    host_cpu_ms: float
    latency_p50_ms: float
    latency_p99_ms: float
    pcm_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--chars", type=int, default=220)
    arguments = parser.parse_args()
    load = Load(arguments.concurrency, arguments.requests, ("A sentence of the book. " * 200)[: arguments.chars])
    settings = FakeEngineSettings(slots=load.concurrency, step_s=STEP_S)

    inside = FakeEngine(settings)
    direct = measure(inside, load, host_cpu_s=lambda: 0.0)
    inside.close()
    process = EngineProcess(settings)
    process.start()
    host = process.pid
    assert host is not None
    behind = measure(process, load, host_cpu_s=lambda: cpu_s(host))
    process.close()

    boundary_ms = behind.caller_cpu_ms + behind.host_cpu_ms - direct.caller_cpu_ms
    report = {
        "machine": f"{platform.machine()}, {usable_cores()} cores, Python {platform.python_version()}",
        "load": asdict(load) | {"text": len(load.text)},
        "in_process": asdict(direct),
        "engine_process": asdict(behind),
        "boundary_cpu_ms_per_request": round(boundary_ms, 3),
    }
    print(json.dumps(report, indent=2))


def measure(engine: Engine, load: Load, host_cpu_s: Callable[[], float]) -> Cost:
    """host_cpu_s: what the process behind the engine has used so far."""

    def speak(number: int) -> tuple[float, int]:
        begun_s = time.perf_counter()
        request = SpeechRequest(f"r{number}", load.text, BuiltInSpeaker("ada"), seed=number)
        speech = engine.submit(request).result()
        return time.perf_counter() - begun_s, speech.pcm.nbytes

    with ThreadPoolExecutor(load.concurrency) as threads:
        list(threads.map(speak, range(load.concurrency)))  # threads, code paths and buffers are warm now
        begun_s, caller_s, host_s = time.perf_counter(), time.process_time(), host_cpu_s()
        spoken = list(threads.map(speak, range(load.concurrency, load.concurrency + load.requests)))
        wall_s = time.perf_counter() - begun_s
        caller_s, host_s = time.process_time() - caller_s, host_cpu_s() - host_s
    latencies_ms = [1000 * latency_s for latency_s, _ in spoken]
    return Cost(
        requests_per_s=round(load.requests / wall_s, 1),
        caller_cpu_ms=round(1000 * caller_s / load.requests, 3),
        host_cpu_ms=round(1000 * host_s / load.requests, 3),
        latency_p50_ms=round(percentile(latencies_ms, 0.5), 1),
        latency_p99_ms=round(percentile(latencies_ms, 0.99), 1),
        pcm_bytes=spoken[0][1],
    )


if __name__ == "__main__":
    main()
