"""The native engine, or vLLM's, on a GPU: codec, closed loop by streams, random arrivals, first audio, memory.

    python benchmarks/engine/gpu_engine.py --size 1.7b --streams 1,8,32,64,128,256 --json engine.json

Writes a random checkpoint of the size unless `--checkpoint` names one. Random weights cost what real ones do. Requests
end at a number of frames drawn evenly from 5 to 15 s. Audio is counted when its samples are delivered, in a window that
begins once the batch is full. The device's memory is watched: `--window 580` or `--poisson-window 580` make a soak. A
request that fails ends the run with its error. Prints a line of JSON for each figure.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.rig import FABLES, FRAME_S, numbers, parser
from rhapsode.bench.engine.measuring import Driver, closed_loop, first_audio_ms, warm_up
from rhapsode.bench.report import read_environment
from rhapsode.bench.statistics import percentile
from worker.engine.cuda.codec.captured_passes import CapturedPasses
from worker.engine.cuda.codec.convolution import convolution_for
from worker.engine.cuda.codec.pass_runner import PassRow
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.interface import BuiltInSpeaker
from worker.engine.native import NativeEngine
from worker.engine.profiles import EngineReproducibility, ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.serving.engine import LaneEngine
from worker.engine.settings import LIVE_SLOTS, NativeEngineSettings, Precision, VllmEngineSettings
from worker.engine.stages.codec import CodecStage

FRAMES = (63, 188)
# What an audio second costs (published dimensions), and what the matrix units of an H200 reach on random numbers.
GFLOP_PER_AUDIO_S = {"0.6b": 106, "1.7b": 130}
H200_TFLOP_PER_S = 790
MOST_LOOP_S, WATCH_EVERY_S = 120.0, 1.0
CODEC_SHAPES = ((1, 1), (1, 4), (1, 25), (8, 1), (32, 1), (32, 8), (1, 100), (1, 300), (4, 100), (8, 150), (16, 100))

Row = dict[str, object]


class MemoryWatch:
    """What is allocated on the device, once a second."""

    def __init__(self) -> None:
        self._seen, self._looked_s = [allocated_mib()], time.perf_counter()

    @property
    def bounds(self) -> tuple[float, float]:
        return min(self._seen), max(self._seen)

    def look(self, _: int) -> None:
        if time.perf_counter() - self._looked_s >= WATCH_EVERY_S:
            self._looked_s = time.perf_counter()
            self._seen.append(allocated_mib())


def allocated_mib() -> float:
    return round(torch.cuda.memory_allocated() / 2**20, 2) if torch.cuda.is_available() else 0.0


def main() -> None:
    given = _arguments()
    report: list[Row] = []

    def tell(what: str, **figures: object) -> None:
        report.append({"what": what, **figures})
        print(json.dumps(report[-1]), flush=True)

    tell("environment", **read_environment(sys.argv).model_dump(mode="json"))
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch, torch.inference_mode():
        checkpoint = given.checkpoint or Path(scratch)
        if given.checkpoint is None:
            draw_checkpoint(checkpoint, given.size, "custom_voice", torch.device(given.device), 0.0)
        if given.codec:
            for row in measure_codec(checkpoint, torch.device(given.device)):
                tell("codec", **row)
        began_s = time.perf_counter()
        engine = started_engine(checkpoint, given)
        tell("started", seconds=round(time.perf_counter() - began_s, 1), slots=engine.info.slots)
        words = FABLES.read_text(encoding="utf-8").split()
        driver = Driver(engine, BuiltInSpeaker(engine.info.speakers[0]), words, FRAMES)
        warm_up(driver)
        for running in (each for each in given.first_running if each < engine.info.slots):
            waits_ms = first_audio_ms(driver, running, given.first_samples, MOST_LOOP_S)
            tell("first audio", running=running, **_percentiles("ms", waits_ms))
        loops: list[Row] = []
        for streams in given.streams:
            loops.append(measure_closed_loop(driver, streams, given))
            tell("closed loop", **loops[-1])
        if given.poisson_window:
            fastest = max(float(str(row["audio_s_per_s"])) for row in loops)
            per_s = given.poisson_load * fastest / (statistics.mean(FRAMES) * FRAME_S)
            tell("open loop", **open_loop(driver, per_s, given.poisson_window))
        tell("stats", **asdict(engine.stats()), most_mib=round(torch.cuda.max_memory_allocated() / 2**20))
        engine.close()
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def started_engine(checkpoint: Path, given: argparse.Namespace) -> LaneEngine:
    slots = max(given.streams)
    if given.engine == "vllm":
        # In an environment of its own.
        from worker.engine.vllm.engine import VllmEngine

        return VllmEngine(VllmEngineSettings(checkpoint, slots, LIVE_SLOTS, given.device, profile=given.profile))
    return NativeEngine(
        NativeEngineSettings(
            checkpoint,
            slots=slots,
            device=given.device,
            profile=given.profile,
            reproducibility=given.reproducibility,
            kv_precision=given.kv_precision,
            mlp_precision=given.mlp_precision,
        )
    )


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--engine", choices=("native", "vllm"), default="native")
    options.add_argument("--size", choices=("0.6b", "1.7b"), default="1.7b")
    options.add_argument("--checkpoint", type=Path, help="instead of random weights")
    options.add_argument("--scratch", type=Path, help="folder for the random checkpoint; memory-backed is fastest")
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--profile", type=ServingProfile, default=ServingProfile.THROUGHPUT)
    options.add_argument("--reproducibility", type=EngineReproducibility, default=EngineReproducibility.BEST_EFFORT)
    options.add_argument("--kv-precision", type=Precision, default=Precision.BFLOAT16)
    options.add_argument("--mlp-precision", type=Precision, default=Precision.BFLOAT16)
    options.add_argument("--streams", type=numbers, default=[1, 8, 32, 64, 128, 256])
    options.add_argument("--window", type=float, default=10.0, help="seconds of each closed loop")
    options.add_argument("--poisson-window", type=float, default=10.0, help="seconds of arrivals; 0 leaves them out")
    options.add_argument("--poisson-load", type=float, default=0.7, help="share of the fastest closed loop")
    options.add_argument("--first-running", type=numbers, default=[0, 32], help="streams beside a first audio")
    options.add_argument("--first-samples", type=int, default=40)
    options.add_argument("--codec", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--json", type=Path)
    return options.parse_args()


def _percentiles(unit: str, values: list[float]) -> dict[str, float]:
    return {f"p{round(100 * share)}_{unit}": round(percentile(values, share), 3) for share in (0.5, 0.95)}


def measure_closed_loop(driver: Driver, streams: int, given: argparse.Namespace) -> Row:
    """share_of_matrix_peak: of an H200's. memory_mib: allocated on the device, least and most."""
    watch = MemoryWatch()
    window = closed_loop(driver, streams, given.window, MOST_LOOP_S + given.window, watch.look)
    rate = window.audio_s_per_s
    return {
        "streams": streams,
        "window_s": round(window.seconds, 2),
        "requests": window.requests,
        "audio_s_per_s": round(rate, 1),
        "share_of_matrix_peak": round(rate * GFLOP_PER_AUDIO_S.get(given.size, 0) / H200_TFLOP_PER_S / 1e3, 4),
        "real_time_per_stream": round(rate / streams, 2),
        "memory_mib": watch.bounds,
    }


def open_loop(driver: Driver, requests_per_s: float, duration_s: float) -> Row:
    """Poisson arrivals at a rate, and what became of them."""
    arrivals, watch, latencies = random.Random(2), MemoryWatch(), list[float]()
    started_s = due_s = time.perf_counter()
    sent = most = frames = 0

    def collect() -> int:
        done = driver.next_ended()
        latencies.append(done.ended_s - done.submitted_s)
        return len(done.future.result().frames)

    while due_s - started_s < duration_s:
        due_s += arrivals.expovariate(requests_per_s)
        time.sleep(max(0.0, due_s - time.perf_counter()))
        driver.submit()
        sent += 1
        while driver.has_ended():
            frames += collect()
        watch.look(sent)
        most = max(most, sent - len(latencies))
    while len(latencies) < sent:
        frames += collect()
    return {
        "requests_per_s": round(requests_per_s, 2),
        "requests": sent,
        "audio_s_per_s": round(frames * FRAME_S / (time.perf_counter() - started_s), 1),
        "most_in_flight": most,
        "memory_mib": watch.bounds,
        **_percentiles("s", latencies),
    }


def measure_codec(checkpoint: Path, device: torch.device) -> list[Row]:
    """Passes by shape, as graphs and kernel by kernel."""
    weights = CodecWeights.of(CodecStage.load(checkpoint, str(device)).decoder, Placement(device, torch.float16))
    shapes = tuple(PassShape(*shape) for shape in CODEC_SHAPES)
    plan, convolution = CodecPlan(shapes, frozenset(shapes), num_streams=8), convolution_for(device, torch.float16)
    plans = (plan, replace(plan, captured=frozenset()))
    graphs, kernels = (CapturedPasses(weights, each, convolution) for each in plans)
    rows: list[Row] = []
    for shape in shapes:
        graph_ms, kernels_ms = (round(pass_ms(passes, shape), 3) for passes in (graphs, kernels))
        rate = round(shape.size * FRAME_S / graph_ms * 1e3)
        size = {"streams": shape.num_streams, "frames": shape.num_frames}
        rows.append({**size, "graph_ms": graph_ms, "kernels_ms": kernels_ms, "audio_s_per_s": rate})
    return rows


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


if __name__ == "__main__":
    main()
