"""What the queue costs: the same segments through the engine alone and through the whole system.

    python benchmarks/queue/system.py [--checkpoint DIR] [--device cuda:0] [--slots 256] [--jobs 4] [--segments 3000]
        [--engine vllm] [--frames 63,125]

First a stack, as `rhapsode up` starts it, gets the text as bulk jobs over HTTP. Then the engine in a separate process
gets the same segments at once, with the same seeds; `--no-alone` leaves that out. The middle is from a tenth to nine
tenths of the segments, without start-up, filling and the last stragglers. Shares are of segments a second: they are the
same on both sides, while the system's audio lacks silent edges. It prints the CPU of each kind of process for a segment
and how much of one core the GPU worker's took, as one JSON object. Until then it says on stderr how far it is.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue

from benchmarks.rig import FABLES, FRAME_S, SMALL_VOICE, cpu_taken_ms, fake_engine, numbers, parser, running_stack
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments
from rhapsode import Rhapsode
from rhapsode.client.request_options import QualityFields, SamplingFields
from rhapsode.contract.jobs.input import Pauses
from rhapsode.contract.operators.fleet import EngineState
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import parse_devices
from rhapsode.stack.state_file import Lifetime
from tests.run_guard import guarded_run
from worker.engine.interface import BuiltInSpeaker, Engine, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.settings import NativeEngineSettings, VllmEngineSettings
from worker.process.engine_meter import EngineMeter
from worker.synthesis.spoken_segment import segment_seed

POLL_S, PROGRESS_S = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class Work:
    """One job: its seed, the most frames of a segment, and its segments, as the system planned them."""

    seed: int
    most_frames: int | None
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """wall_s: from the first submit to the last result, files included where there are any. spoken_s: without them."""

    wall_s: float
    spoken_s: float
    audio_s: float
    audio_s_per_s: float
    middle_segments_per_s: float


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--checkpoint", type=Path, default=SMALL_VOICE)
    options.add_argument("--engine", choices=("native", "vllm"), default="native")
    options.add_argument("--device", default="cpu")
    options.add_argument("--slots", type=int, default=16)
    options.add_argument("--jobs", type=int, default=4)
    options.add_argument("--segments", type=int, default=64, help="of all jobs together, about")
    options.add_argument(
        "--frames",
        type=numbers,
        help="the most of a segment, in the first and the last job: random weights speak without an end",
    )
    options.add_argument("--gate", choices=("basic", "off"), default="basic", help="off: random weights make noise")
    options.add_argument("--alone", action=argparse.BooleanOptionalAction, default=True, help="the engine by itself")
    options.add_argument("--profile", type=ServingProfile, default=ServingProfile.THROUGHPUT)
    given = options.parse_args()
    system, cpu, work = measure_system(given, long_text(given.segments // given.jobs))
    facts = {name: getattr(given, name) for name in ("engine", "device", "slots", "jobs")}
    facts["checkpoint"] = given.checkpoint.name
    report: dict[str, object] = {**facts, "segments": sum(len(job.segments) for job in work)}
    report |= {"whole_system": asdict(system), **cpu}
    if given.alone:
        print(json.dumps(report), file=sys.stderr)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:  # its memory is free again behind it
            alone = child.submit(measure_engine, given, work).result()
        report["engine_alone"] = asdict(alone)
        middle = system.middle_segments_per_s / alone.middle_segments_per_s
        report["share"] = {"middle": round(middle, 3), "whole": round(alone.wall_s / system.wall_s, 3)}
    print(json.dumps(report, indent=1))


def long_text(num_segments: int) -> str:
    """Fables, repeated until they have about that many segments."""
    paragraphs = [paragraph for paragraph in FABLES.read_text(encoding="utf-8").split("\n\n") if len(paragraph) > 100]
    told: list[str] = []
    count = 0
    while count < num_segments:
        told.append(paragraphs[len(told) % len(paragraphs)])
        count += len(plan_segments(told[-1], LengthRules(), Pauses()))
    return "\n\n".join(told)


def most_frames(bounds: Sequence[int] | None, jobs: int) -> list[int | None]:
    """For each job, in even steps between the bounds."""
    if bounds is None:
        return [None] * jobs
    return [round(bounds[0] + (bounds[-1] - bounds[0]) * job / max(1, jobs - 1)) for job in range(jobs)]


def limited_to(frames: int | None) -> SamplingFields:
    return {} if frames is None else {"max_new_tokens": frames}


def measure_engine(given: argparse.Namespace, work: Sequence[Work]) -> Speed:
    engine = started_engine(given)
    voice, sampling = BuiltInSpeaker(engine.info.speakers[0]), engine.info.default_sampling
    engine.submit(SpeechRequest("warm-up", work[0].segments[0], voice, max_frames=8)).result()
    # What was spoken is dropped at once, as the system does: hours of samples would fill the memory.
    finished: SimpleQueue[tuple[float, Future[Speech]]] = SimpleQueue()
    started_s = time.perf_counter()
    said = Counter[str]()
    # The jobs of a tenant take turns.
    for index, texts in enumerate(zip(*(job.segments for job in work), strict=True)):
        for job, text in zip(work, texts, strict=True):
            seed = segment_seed(job.seed, text, occurrence=said[f"{job.seed} {text}"])
            said[f"{job.seed} {text}"] += 1
            request = SpeechRequest(
                f"{job.seed}/{index}", text, voice, sampling=sampling, seed=seed, max_frames=job.most_frames
            )
            engine.submit(request).add_done_callback(lambda future: finished.put((time.perf_counter(), future)))
    total, num_frames = sum(len(job.segments) for job in work), 0
    counts: list[tuple[float, int]] = []
    meter, next_line_s = EngineMeter(engine.stats, engine.info, lambda: 0), started_s + PROGRESS_S
    for number in range(1, total + 1):
        moment_s, future = finished.get()
        counts.append((moment_s, number))
        num_frames += len(future.result().frames)
        if moment_s >= next_line_s:
            next_line_s += PROGRESS_S
            meter.look()
            tell(f"{number} segments, {num_frames * FRAME_S:.0f} s of audio", moment_s - started_s, [meter.report()])
    wall_s = time.perf_counter() - started_s
    engine.close()
    return _speed(wall_s, counts, total, num_frames * FRAME_S)


def started_engine(given: argparse.Namespace) -> Engine:
    checkpoint, device = given.checkpoint.resolve(), parse_devices("--device", given.device)[0]
    if given.engine == "vllm":
        # In an environment of its own.
        from worker.engine.vllm.engine import VllmEngine

        return VllmEngine(VllmEngineSettings(checkpoint, given.slots, device=device, profile=given.profile))
    return NativeEngine(NativeEngineSettings(checkpoint, given.slots, device=device, profile=given.profile))


def measure_system(given: argparse.Namespace, text: str) -> tuple[Speed, dict[str, object], list[Work]]:
    profile = {"RHAPSODE_ENGINE": given.engine, "RHAPSODE_ENGINE_PROFILE": given.profile.value}
    environment = fake_engine(0) | profile
    quality: QualityFields = {"gate": given.gate}
    with guarded_run() as folder:
        options = StackOptions(
            folder,
            slots=given.slots,
            checkpoint=given.checkpoint.resolve(),
            devices=parse_devices("--device", given.device),
            lifetime=Lifetime.SERVER,
        )
        with running_stack(options, environment) as stack, Rhapsode(stack.url) as client:
            voice = client.models()[0].speakers[0]
            submit = partial(client.submit_job, voice=voice, quality=quality)
            for job in [submit(long_text(16), sampling=limited_to(8)) for _ in range(given.jobs)]:
                client.wait(job)  # the first plan of a worker takes longer
            started_s, before = time.perf_counter(), cpu_taken_ms()
            next_line_s = started_s + PROGRESS_S
            seeds, most = range(1000, 1000 + given.jobs), most_frames(given.frames, given.jobs)
            jobs = [submit(text, seed=seed, sampling=limited_to(each)) for seed, each in zip(seeds, most, strict=True)]
            counts: list[tuple[float, int]] = []
            while not all(job.finished_at for job in jobs):
                time.sleep(POLL_S)
                jobs = [client.job(job.id) for job in jobs]
                counts.append((time.perf_counter(), sum(job.progress.segments.done for job in jobs)))
                if counts[-1][0] >= next_line_s:
                    next_line_s += PROGRESS_S
                    audio_s = sum(job.progress.audio_s_done for job in jobs)
                    engines = [each.engine for each in client.operations.workers() if each.engine]
                    tell(f"{counts[-1][1]} segments, {audio_s:.0f} s of audio", counts[-1][0] - started_s, engines)
            wall_s, spent = time.perf_counter() - started_s, cpu_taken_ms() - before
            for job in jobs:
                job.raise_unless_succeeded()
            work = [
                Work(seed, each, tuple(segment.text for segment in client.segments.list(job)))
                for seed, each, job in zip(seeds, most, jobs, strict=True)
            ]
    total = sum(len(job.segments) for job in work)
    speed = _speed(wall_s, counts, total, sum(job.usage.audio_s for job in jobs if job.usage))
    per_segment = {kind: round(ms / total, 2) for kind, ms in spent.items()}
    cores = round(spent["gpu_worker"] / 1000 / wall_s, 2)
    return speed, {"cpu_ms_a_segment": per_segment, "gpu_worker_cores": cores}, work


def tell(done: str, after_s: float, engines: Sequence[EngineState]) -> None:
    fills = ", ".join(f"{each.batch_fill or 0:.1%} at {each.step_ms or 0:.1f} ms" for each in engines)
    print(f"{done} after {after_s:.0f} s; slots {fills}", file=sys.stderr)


def _speed(wall_s: float, counts: Sequence[tuple[float, int]], total: int, audio_s: float) -> Speed:
    """counts: (moment, segments finished by then), growing."""
    first, last, end = (next(entry for entry in counts if entry[1] >= total * share) for share in (0.1, 0.9, 1))
    per_s = (last[1] - first[1]) / (last[0] - first[0])
    spoken_s = wall_s - (counts[-1][0] - end[0])
    return Speed(*(round(each, 2) for each in (wall_s, spoken_s, audio_s, audio_s / wall_s, per_s)))


if __name__ == "__main__":
    main()
