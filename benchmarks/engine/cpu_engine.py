"""How fast the native engine speaks on this CPU, decoding included, at several numbers of concurrent requests.

    python benchmarks/engine/cpu_engine.py [--checkpoint worker/small_voice] [--slots 1 4 16] [--threads 1 2]

Each line: `slots` requests at a time, four times that many in all, the same two sentences with different seeds.
Real-time factor is wall seconds per second of audio, lower is better; CPU is all of the process. First audio: from
submitting a streamed, interactive request to its first samples, the median of five; alone, and with bulk in every slot
and as much again waiting.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from worker.engine.cores import usable_cores
from worker.engine.interface import BuiltInSpeaker, Engine, SpeechRequest, Urgency
from worker.engine.native import NativeEngine
from worker.engine.serving.streaming import SpeechStream
from worker.engine.settings import NativeEngineSettings

TEXT = "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background."
FRAMES_PER_SECOND = 12.5
ROUNDS = 4
MAX_FRAMES = 120


@dataclass(frozen=True, slots=True)
class Speed:
    slots: int
    threads: int
    frames_per_s: float
    audio_s_per_s: float
    real_time_factor: float
    cpu_s_per_audio_s: float
    first_audio_alone_ms: float
    first_audio_beside_bulk_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=Path(__file__).resolve().parents[2] / "worker/small_voice")
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]

    speeds = [
        measure(NativeEngineSettings(arguments.checkpoint, slots=slots, num_threads=threads))
        for threads in arguments.threads
        for slots in arguments.slots
    ]

    print(
        json.dumps(
            {
                "checkpoint": arguments.checkpoint.name,
                "machine": f"{platform.machine()}, {usable_cores()} cores",
                "load_before": round(load_before, 2),
                "speeds": [asdict(speed) for speed in speeds],
            },
            indent=1,
        )
    )


def measure(settings: NativeEngineSettings) -> Speed:
    engine = NativeEngine(settings)
    try:
        engine.submit(replace(request(engine, 0), max_frames=8)).result()
        started_s, cpu_started_s = time.perf_counter(), time.process_time()
        futures = [engine.submit(request(engine, seed)) for seed in range(1, 1 + ROUNDS * settings.slots)]
        frames = sum(len(future.result().frames) for future in futures)
        wall_s, cpu_s = time.perf_counter() - started_s, time.process_time() - cpu_started_s
        alone_s = statistics.median(first_audio_s(engine, f"alone {n}") for n in range(5))
        beside_bulk_s = statistics.median(first_audio_beside_bulk(engine, settings.slots))
    finally:
        engine.close()
    audio_s = frames / FRAMES_PER_SECOND
    return Speed(
        slots=settings.slots,
        threads=settings.num_threads,
        frames_per_s=round(frames / wall_s, 1),
        audio_s_per_s=round(audio_s / wall_s, 2),
        real_time_factor=round(wall_s / audio_s, 3),
        cpu_s_per_audio_s=round(cpu_s / audio_s, 3),
        first_audio_alone_ms=round(1000 * alone_s),
        first_audio_beside_bulk_ms=round(1000 * beside_bulk_s),
    )


def first_audio_beside_bulk(engine: Engine, slots: int) -> list[float]:
    """Seconds; between any two measurements, bulk gets back what it has lost."""
    seconds: list[float] = []
    for n in range(5):
        names = [f"bulk {n} {number}" for number in range(2 * slots)]
        bulk = [engine.submit(replace(request(engine, number), request_id=name)) for number, name in enumerate(names)]
        while engine.stats().active < slots:
            time.sleep(0.001)
        time.sleep(0.05 * n)  # not always at the same moment of their speech
        seconds.append(first_audio_s(engine, f"beside bulk {n}"))
        for name in names:
            engine.cancel(name)
        for future in bulk:
            future.exception()
    return seconds


def first_audio_s(engine: Engine, name: str) -> float:
    wanted = replace(request(engine, 1), request_id=name, urgency=Urgency.INTERACTIVE)
    began_s = time.perf_counter()
    stream = SpeechStream(engine, wanted)
    next(iter(stream))
    taken_s = time.perf_counter() - began_s
    engine.cancel(name)
    stream.speech.exception()
    return taken_s


def request(engine: Engine, seed: int) -> SpeechRequest:
    return SpeechRequest(
        request_id=str(seed),
        text=TEXT,
        conditioning=BuiltInSpeaker(engine.info.speakers[0]),
        sampling=engine.info.default_sampling,
        seed=seed,
        max_frames=MAX_FRAMES,
    )


if __name__ == "__main__":
    main()
