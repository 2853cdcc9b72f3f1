"""Milliseconds of a frame on a CUDA device, by rows, with random weights of the published dimensions.

    python benchmarks/engine/talker_frame.py --size 1.7B --rows 1,8,32,64,128,256 --json frame.json

A frame is everything but the codec: talker step, head, draws, fifteen predictor passes, next inputs. Each bucket is
one CUDA graph over rows whose histories have `--position` tokens. `--profile` lists the kernels by their time, and
`--lane` drives the engine's own lane (prompts, launches ahead, results read late) with requests of mixed lengths.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.autograd.profiler_util import FunctionEventAvg

from benchmarks.rig import FRAME_S, numbers, parser
from tests.gpu.random_talker import PAD_ID, SIZES, random_request, random_weights, run_all_slots
from worker.engine.cuda.talker.capture_plan import capture_plan
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights
from worker.engine.cuda.talker.frame_executor import GraphedFrames, LaunchedFrame
from worker.engine.cuda.talker.start import CACHE_DTYPES, operations_by_rows, slot_lane
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.profiles import EngineReproducibility, ServingProfile
from worker.engine.settings import NativeEngineSettings, Precision

IN_FLIGHT = 3
# Bytes of weights that a frame has to read whatever the batch, over the bandwidth that a copy reaches on an H200.
H200_BYTES_PER_S = 4.3e12


def pipelined_ms(frames: GraphedFrames, slots: list[int], repeats: int) -> float:
    """Wall milliseconds from frame to frame, as the engine makes them: launched ahead, results read late."""
    launched: deque[LaunchedFrame] = deque(frames.launch(slots) for _ in range(IN_FLIGHT))
    launched.popleft().wait()
    began_s = time.perf_counter()
    launched.append(frames.launch(slots))
    for _ in range(repeats - 1):
        launched.popleft().wait()
        launched.append(frames.launch(slots))
    launched.popleft().wait()
    elapsed_s = time.perf_counter() - began_s
    while launched:
        launched.popleft().wait()
    return elapsed_s / repeats * 1e3


@torch.inference_mode()
def measure(weights: SpeechWeights, options: argparse.Namespace) -> list[dict[str, float]]:
    most = max(options.rows)
    plan = capture_plan(most, options.capacity, EngineReproducibility.BEST_EFFORT)
    talker = SlotTalker(weights, most, options.capacity, most, PAD_ID, CACHE_DTYPES[options.kv_precision])
    operations_for = operations_by_rows(weights, plan)
    results: list[dict[str, float]] = []
    for num_rows in sorted(options.rows, reverse=True):
        one_bucket = replace(plan, row_buckets=(num_rows,))
        frames = GraphedFrames(talker.step, one_bucket, operations_for, most, IN_FLIGHT, torch.cuda.Stream())
        run_all_slots(talker, options.position)
        torch.cuda.synchronize()
        slots = list(range(num_rows))
        milliseconds = pipelined_ms(frames, slots, options.repeats)
        results.append(
            {
                "rows": num_rows,
                "frame_ms": round(milliseconds, 3),
                "audio_s_per_s": round(num_rows * FRAME_S / milliseconds * 1e3, 1),
                "gib": round(torch.cuda.memory_allocated() / 2**30, 2),
            }
        )
        print(json.dumps(results[-1]), flush=True)
        if num_rows in options.profile:
            profile(frames, slots)
        del frames
    return results


def profile(frames: GraphedFrames, slots: list[int]) -> None:
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recorded:
        for _ in range(3):
            frames.launch(slots).wait()
        torch.cuda.synchronize()

    def busy_us(event: FunctionEventAvg) -> float:
        return event.self_device_time_total

    events = sorted(recorded.key_averages(), key=busy_us, reverse=True)
    busy_ms = sum(event.self_device_time_total for event in events) / 3e3
    print(f"-- kernels of a frame of {len(slots)} rows: {sum(e.count for e in events) // 3}, busy {busy_ms:.3f} ms")
    for event in events[:22]:
        each = event.self_device_time_total / event.count
        print(f"{event.self_device_time_total / 3e3:8.3f} ms {event.count // 3:5d} x {each:7.2f} us  {event.key[:90]}")


def drive_lane(weights: SpeechWeights, options: argparse.Namespace) -> dict[str, float]:
    """Three times as many requests as fit, of 5 to 15 s, through the lane until all have ended."""
    num_slots = max(options.rows)
    settings = NativeEngineSettings(
        Path("random"),
        slots=num_slots,
        live_slots=0,
        profile=options.serving,
        reproducibility=options.reproducibility,
        kv_precision=options.kv_precision,
    )
    began_s = time.perf_counter()
    lane = slot_lane(weights, num_slots, 0, options.capacity, PAD_ID, settings)
    start_s = time.perf_counter() - began_s
    generator = np.random.default_rng(1)
    for number in range(3 * num_slots):
        lane.add(
            random_request(str(number), int(generator.integers(50, 110)), int(generator.integers(63, 188)), number)
        )
    torch.cuda.synchronize()
    before, frames, steps, began_s = torch.cuda.memory_allocated(), 0, 0, time.perf_counter()
    while lane.has_work:
        frames += lane.step(lambda: False).num_frames
        steps += 1
    wall_s = time.perf_counter() - began_s
    result = {
        "slots": num_slots,
        "start_s": round(start_s, 1),
        "requests": 3 * num_slots,
        "frames": frames,
        "steps": steps,
        "wall_s": round(wall_s, 2),
        "audio_s_per_s": round(frames * FRAME_S / wall_s, 1),
        "grown_mib": round((torch.cuda.memory_allocated() - before) / 2**20, 2),
    }
    print("lane", json.dumps(result), flush=True)
    return result


def weight_bytes(weights: SpeechWeights) -> int:
    """Read for every frame: the talker once, the predictor's layers fifteen times, the heads."""

    def stack(transformer: TalkerTransformerWeights) -> int:
        return sum(
            t.nbytes for layer in transformer.layers for t in (layer.qkv, layer.output, layer.gate_up, layer.down)
        )

    passes = weights.num_codebooks - 1
    return (
        stack(weights.talker.transformer)
        + passes * stack(weights.predictor.transformer)
        + weights.talker.head.nbytes
        + weights.predictor.heads.nbytes
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--size", choices=SIZES, default="1.7B")
    arguments.add_argument("--rows", type=numbers, default=[1, 8, 32, 128, 256])
    arguments.add_argument("--position", type=int, default=190, help="tokens of every history")
    arguments.add_argument("--capacity", type=int, default=512, help="positions of a slot")
    arguments.add_argument("--repeats", type=int, default=30, help="frames measured")
    arguments.add_argument("--profile", type=numbers, default=[], help="rows whose kernels are listed")
    arguments.add_argument("--lane", action="store_true")
    arguments.add_argument("--serving", type=ServingProfile, default=ServingProfile.THROUGHPUT)
    arguments.add_argument("--reproducibility", type=EngineReproducibility, default=EngineReproducibility.BEST_EFFORT)
    arguments.add_argument("--kv-precision", type=Precision, default=Precision.BFLOAT16)
    arguments.add_argument("--mlp-precision", type=Precision, default=Precision.BFLOAT16)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    device = torch.device("cuda")
    weights = random_weights(SIZES[options.size], options.capacity, torch.bfloat16, device)
    if options.mlp_precision is Precision.FLOAT8:
        weights = weights.with_float8_mlps()
    floor_ms = weight_bytes(weights) / H200_BYTES_PER_S * 1e3
    print(f"{options.size} on {torch.cuda.get_device_name()}: the weights of a frame take {floor_ms:.2f} ms to read")
    results: dict[str, object] = {"size": options.size, "weights_ms": floor_ms}
    results["frames"] = measure(weights, options)
    if options.lane:
        torch.cuda.empty_cache()
        results["lane"] = drive_lane(weights, options)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
