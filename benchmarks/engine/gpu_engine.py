"""The native engine on a GPU: codec, closed loop by streams, random arrivals, first audio, memory.

    python benchmarks/engine/gpu_engine.py --size 1.7b --streams 1,8,32,64,128,256 --json engine.json

Writes a random checkpoint of the size (see random_checkpoint.py) unless `--checkpoint` names one. Random weights cost
what real ones cost; requests end at a number of frames drawn evenly from 5 to 15 s. Audio is counted when its samples
are delivered, within a window that begins once the batch is full. The device's memory is watched meanwhile: `--window
580` or `--poisson-window 580` make a soak, which says every half minute how it goes. A request that fails ends the run
with its error.
`--reference qwen-tts` runs that package's static batch on the same checkpoint, in a process with `--reference-path` on
its module path. `--plot engine.png` draws the figures. Prints a line for each.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from rhapsode.bench.statistics import percentile
from worker.bench.loads import Driver, closed_loop, first_audio_ms, warm_up
from worker.engine.cores import usable_cores
from worker.engine.cuda.codec.captured_passes import CapturedPasses
from worker.engine.cuda.codec.kernels.causal_conv import causal_conv
from worker.engine.cuda.codec.pass_runner import PassRow
from worker.engine.cuda.codec.plan import CodecPlan, PassShape, published_plan, uncaptured
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.interface import BuiltInSpeaker, EngineStats
from worker.engine.native import NativeEngine
from worker.engine.profiles import PROFILES, Reproducibility, ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.settings import NativeEngineSettings, Precision
from worker.engine.stages.codec import CodecStage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FRAME_S = 0.08
FRAMES = (63, 188)
WORDS = (Path(__file__).resolve().parents[2] / "rhapsode/demo/fables.txt").read_text(encoding="utf-8").split()
# What an audio second costs (published dimensions), and what the matrix units of an H200 reach on random numbers.
GFLOP_PER_AUDIO_S = {"0.6b": 106, "1.7b": 130}
H200_TFLOP_PER_S = 790
MOST_LOOP_S, WATCH_EVERY_S, SAY_EVERY_S = 120.0, 1.0, 30.0
CODEC_SHAPES = ((1, 1), (1, 4), (1, 25), (8, 1), (32, 1), (32, 8), (1, 100), (1, 300), (4, 100), (8, 150), (16, 100))


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """`streams` requests are always in flight. Audio and requests are those delivered in the window.

    memory_mib: allocated on the device, least and most.
    """

    streams: int
    window_s: float
    requests: int
    audio_s_per_s: float
    share_of_matrix_peak: float
    real_time_per_stream: float
    memory_mib: tuple[float, float]


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Poisson arrivals at a rate, and what became of them. memory_mib: allocated on the device, least and most."""

    requests_per_s: float
    requests: int
    audio_s_per_s: float
    latency_p50_s: float
    latency_p95_s: float
    most_in_flight: int
    finished: int
    memory_mib: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FirstAudio:
    """From submit to the first samples of an interactive request, while `running` others speak and are heard."""

    running: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class CodecSpeed:
    streams: int
    frames: int
    graph_ms: float
    kernels_ms: float
    audio_s_per_s: float


@dataclass(frozen=True, slots=True)
class EngineReport:
    """memory_gib: allocated, most and reserved on the device; nothing where there is none."""

    start_s: float
    slots: int
    first_audio: list[FirstAudio]
    closed_loop: list[ClosedLoop]
    open_loop: OpenLoop | None
    stats: EngineStats
    memory_gib: dict[str, float]


class MemoryWatch:
    """What is allocated on the device, once a second; says from time to time how far the run is."""

    def __init__(self) -> None:
        self._seen = [allocated_mib()]
        self._began_s = self._looked_s = self._said_s = time.perf_counter()

    @property
    def bounds(self) -> tuple[float, float]:
        return min(self._seen), max(self._seen)

    def look(self, requests: int) -> None:
        now_s = time.perf_counter()
        if now_s - self._looked_s < WATCH_EVERY_S:
            return
        self._looked_s = now_s
        self._seen.append(allocated_mib())
        if now_s - self._said_s >= SAY_EVERY_S:
            self._said_s = now_s
            print(f"{now_s - self._began_s:.0f} s: {requests} requests, {self.bounds} MiB allocated", flush=True)


def measure_closed_loop(driver: Driver, streams: int, window_s: float, size: str) -> ClosedLoop:
    watch = MemoryWatch()
    window = closed_loop(driver, streams, window_s, MOST_LOOP_S + window_s, watch.look)
    rate = window.audio_s_per_s
    return ClosedLoop(
        streams=streams,
        window_s=round(window.seconds, 2),
        requests=window.requests,
        audio_s_per_s=round(rate, 1),
        share_of_matrix_peak=round(rate * GFLOP_PER_AUDIO_S.get(size, 0) / H200_TFLOP_PER_S / 1e3, 4),
        real_time_per_stream=round(rate / streams, 2),
        memory_mib=watch.bounds,
    )


def open_loop(driver: Driver, requests_per_s: float, duration_s: float) -> OpenLoop:
    arrivals = random.Random(2)
    started_s = due_s = time.perf_counter()
    sent = most = 0
    latencies: list[float] = []
    watch = MemoryWatch()
    frames = 0

    def collect() -> None:
        nonlocal frames
        done = driver.next_ended()
        latencies.append(done.ended_s - done.submitted_s)
        frames += len(done.future.result().frames)

    while due_s - started_s < duration_s:
        due_s += arrivals.expovariate(requests_per_s)
        time.sleep(max(0.0, due_s - time.perf_counter()))
        driver.submit()
        sent += 1
        while driver.has_ended():
            collect()
        watch.look(sent)
        most = max(most, sent - len(latencies))
    while len(latencies) < sent:
        collect()
    return OpenLoop(
        requests_per_s=round(requests_per_s, 2),
        requests=sent,
        audio_s_per_s=round(frames * FRAME_S / (time.perf_counter() - started_s), 1),
        latency_p50_s=round(percentile(latencies, 0.5), 3),
        latency_p95_s=round(percentile(latencies, 0.95), 3),
        most_in_flight=most,
        finished=len(latencies),
        memory_mib=watch.bounds,
    )


def allocated_mib() -> float:
    return round(torch.cuda.memory_allocated() / 2**20, 2) if torch.cuda.is_available() else 0.0


def measure_first_audio(driver: Driver, running: int, samples: int) -> FirstAudio:
    waits_ms = first_audio_ms(driver, running, samples, MOST_LOOP_S)
    return FirstAudio(running, round(percentile(waits_ms, 0.5), 2), round(percentile(waits_ms, 0.95), 2))


def measure_codec(checkpoint: Path, device: torch.device) -> list[CodecSpeed]:
    """Passes by shape, the published sizes among them, as graphs and kernel by kernel."""
    decoder = CodecStage.load(checkpoint, str(device)).decoder
    weights = CodecWeights.of(decoder, Placement(device, torch.float16))
    published = [shape for shape in published_plan(num_streams=8).shapes if shape.num_streams == 1]
    shapes = tuple(dict.fromkeys([*(PassShape(*shape) for shape in CODEC_SHAPES), *published]))
    plan = CodecPlan(shapes, frozenset(shapes), num_streams=8)
    graphs, kernels = (CapturedPasses(weights, each, causal_conv) for each in (plan, uncaptured(plan)))
    results: list[CodecSpeed] = []
    for shape in shapes:
        graph_ms, kernels_ms = pass_ms(graphs, shape), pass_ms(kernels, shape)
        rate = shape.size * FRAME_S / graph_ms * 1e3
        row = CodecSpeed(shape.num_streams, shape.num_frames, round(graph_ms, 3), round(kernels_ms, 3), round(rate))
        results.append(row)
        print("codec", json.dumps(asdict(row)), flush=True)
    return results


def pass_ms(passes: CapturedPasses, shape: PassShape) -> float:
    """Median of whole passes: frames in, samples on the host."""
    frames = np.random.default_rng(1).integers(0, 2048, (shape.num_frames, 16)).astype(np.int16)
    rows = [PassRow(frames, 0, passes.scratch_slot)] * shape.num_streams
    times: list[float] = []
    for _ in range(7):
        started_s = time.perf_counter()
        passes.launch(shape, rows).samples()
        times.append(1e3 * (time.perf_counter() - started_s))
    return statistics.median(times[2:])


def measure_engine(checkpoint: Path, options: argparse.Namespace) -> EngineReport:
    began_s = time.perf_counter()
    settings = NativeEngineSettings(
        checkpoint,
        slots=max(options.streams),
        device=options.device,
        profile=options.profile,
        reproducibility=options.reproducibility,
        kv_precision=options.kv_precision,
        mlp_precision=options.mlp_precision,
    )
    engine = NativeEngine(settings)
    start_s = round(time.perf_counter() - began_s, 1)
    open_report: OpenLoop | None = None
    try:
        driver = Driver(engine, BuiltInSpeaker(engine.info.speakers[0]), WORDS, FRAMES)
        warm_up(driver)
        first = [
            printed("first audio", measure_first_audio(driver, running, options.first_samples))
            for running in options.first_running
            if running < engine.info.slots
        ]
        loops = [
            printed("closed loop", measure_closed_loop(driver, n, options.window, options.size))
            for n in options.streams
        ]
        if options.poisson_window:
            most = max(loop.audio_s_per_s for loop in loops)
            per_s = options.poisson_load * most / (statistics.mean(FRAMES) * FRAME_S)
            open_report = printed("open loop", open_loop(driver, per_s, options.poisson_window))
        stats = printed("stats", engine.stats())
        memory_gib = device_memory_gib() if options.device.startswith("cuda") else {}
    finally:
        engine.close()
    return EngineReport(start_s, engine.info.slots, first, loops, open_report, stats, memory_gib)


def device_memory_gib() -> dict[str, float]:
    return {
        "allocated": round(torch.cuda.memory_allocated() / 2**30, 2),
        "most": round(torch.cuda.max_memory_allocated() / 2**30, 2),
        "reserved": round(torch.cuda.memory_reserved() / 2**30, 2),
    }


Result = TypeVar("Result", bound="DataclassInstance")


def printed(name: str, result: Result) -> Result:
    print(name, json.dumps(asdict(result)), flush=True)
    return result


def measure_reference(checkpoint: Path, options: argparse.Namespace) -> list[object]:
    """The package's own static batches, in a process of its own: it wants another transformers than ours may have."""
    script = Path(__file__).parent / "reference_package.py"
    environment = os.environ | {"PYTHONPATH": options.reference_path}
    command = [sys.executable, str(script), str(checkpoint), "--device", options.device, "--batches", "1,128"]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    print(finished.stdout, flush=True)
    return [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]


def plot(loops: list[ClosedLoop], path: Path, title: str) -> None:
    from matplotlib import pyplot  # pyright: ignore[reportMissingImports]  # for --plot alone

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot([loop.streams for loop in loops], [loop.audio_s_per_s for loop in loops], marker="o")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("streams in flight")
    axes.set_ylabel("seconds of audio per second")
    axes.set_title(title)
    axes.grid(visible=True)
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("tiny", "0.6b", "1.7b"), default="1.7b")
    parser.add_argument("--checkpoint", type=Path, help="instead of random weights")
    parser.add_argument("--scratch", type=Path, help="folder for the random checkpoint; memory-backed is fastest")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--profile", type=ServingProfile, default=ServingProfile.THROUGHPUT)
    parser.add_argument("--reproducibility", type=Reproducibility, default=Reproducibility.BEST_EFFORT)
    parser.add_argument("--kv-precision", type=Precision, default=Precision.BFLOAT16)
    parser.add_argument("--mlp-precision", type=Precision, default=Precision.BFLOAT16)
    parser.add_argument("--streams", type=numbers, default=[1, 8, 32, 64, 128, 256])
    parser.add_argument("--window", type=float, default=10.0, help="seconds of each closed loop")
    parser.add_argument("--poisson-window", type=float, default=10.0, help="seconds of arrivals; 0 leaves them out")
    parser.add_argument("--poisson-load", type=float, default=0.7, help="share of the fastest closed loop")
    parser.add_argument("--first-running", type=numbers, default=[0, 32], help="streams beside a first audio")
    parser.add_argument("--first-samples", type=int, default=40)
    parser.add_argument("--enough-frames", type=int, help="that a pass of the codec waits for, else the profile's")
    parser.add_argument("--codec", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--reference", choices=("qwen-tts",))
    parser.add_argument("--reference-path", default="", help="where that package and what it needs are installed")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    if options.enough_frames is not None:
        PROFILES[options.profile] = replace(PROFILES[options.profile], codec_enough_frames=options.enough_frames)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch, torch.inference_mode():
        checkpoint = options.checkpoint or Path(scratch)
        if options.checkpoint is None:
            began_s = time.perf_counter()
            draw_checkpoint(checkpoint, options.size, "custom_voice", torch.device(options.device), 0.0)
            print(f"checkpoint written in {time.perf_counter() - began_s:.1f} s", flush=True)
        report: dict[str, object] = {
            "size": options.size,
            "profile": options.profile,
            "reproducibility": options.reproducibility,
            "enough_frames": PROFILES[options.profile].codec_enough_frames,
            "kv_precision": options.kv_precision,
            "mlp_precision": options.mlp_precision,
            "machine": machine(options),
        }
        if options.codec:
            report["codec"] = [asdict(row) for row in measure_codec(checkpoint, torch.device(options.device))]
        engine_report = measure_engine(checkpoint, options)
        report |= asdict(engine_report)
        if options.reference:
            report["reference"] = measure_reference(checkpoint, options)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        plot(engine_report.closed_loop, options.plot, f"{options.size}, {options.profile}")


def machine(options: argparse.Namespace) -> str:
    name = torch.cuda.get_device_name(0) if options.device.startswith("cuda") else options.device
    return f"{name}, torch {torch.__version__}, {usable_cores()} cores"


if __name__ == "__main__":
    main()
