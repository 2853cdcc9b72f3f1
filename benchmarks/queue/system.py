"""What the queue costs: the same segments through the engine alone and through the whole system.

    python benchmarks/queue/system.py [--checkpoint DIR] [--device cuda:0] [--slots 256] [--jobs 4] [--segments 3000]
        [--no-alone] [--kill-after 15]

First the engine in this process is given every segment at once. Then a stack (Valkey, API, workers, janitor, a folder
store) gets the text as `--jobs` bulk jobs over HTTP, with the same seeds. The middle is from a tenth to nine tenths of
the segments, without start-up, filling and the last stragglers. The shares are of segments a second, which are the same
ones on both sides; their audio is not: the engine's is counted in codec frames, the system's in what is kept of them
once silent edges are cut. The share of the middle may exceed 1: the engine alone shares its interpreter with this
script, knows all segments from the start, and takes those of the longest texts first. Of every process of the system
the CPU per segment is told, and how much of one core the GPU worker's took. Prints one JSON object.

The stack is what `rhapsode up` starts. With several devices (`--device cuda:0,cuda:1`) the engine alone runs on the
first; `--no-alone` leaves it out. `--kill-after` has one of the GPU workers killed so many seconds after the first
submit (`lost_worker.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

import psutil

from benchmarks.queue.lost_worker import Loss, LostWorker
from reading.segmenting.lengths import Segmentation
from reading.segmenting.segmentation import plan_segments
from rhapsode import Job, Rhapsode
from rhapsode.client.request_options import Quality
from rhapsode.contract.jobs.input import Pauses
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import parse_devices
from rhapsode.stack.stack import Stack
from rhapsode.stack.state_file import Lifetime
from tests.environment import without_settings
from tests.run_guard import guarded_run
from worker.engine.cores import usable_cores
from worker.engine.interface import BuiltInSpeaker, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.settings import NativeEngineSettings
from worker.settings import SMALL_VOICE
from worker.synthesis.spoken_segment import segment_seed

FABLES = Path(__file__).resolve().parents[2] / "rhapsode/demo/fables.txt"
FRAMES_PER_S = 12.5
POLL_S = 0.1
NOTE_S = 10.0
WARM_UP_FRAMES = 8


@dataclass(frozen=True, slots=True)
class Work:
    """One job: its text, its seed and the segments that the planner makes of it."""

    text: str
    seed: int
    segments: tuple[str, ...]


PROCESSES = {
    "engine_host": "worker.engine.process.host",
    "postprocessors": "worker.speech.postprocessing.process",
    "gpu_worker": "gpu@%h",
    "cpu_worker": "cpu@%h",
    "janitor": "worker.janitor",
    "api": "api.server",
}
"""A word of the command line that tells each kind from the others."""


@dataclass(frozen=True, slots=True)
class Speed:
    """wall_s: from the first submit to the last result, files included where there are any."""

    wall_s: float
    audio_s: float
    audio_s_per_s: float
    middle_audio_s_per_s: float
    middle_segments_per_s: float


@dataclass(frozen=True, slots=True)
class Cpu:
    """ms_per_segment: of each kind of process. gpu_worker_cores: how many the worker's one process kept busy."""

    ms_per_segment: dict[str, float]
    gpu_worker_cores: float


@dataclass(frozen=True, slots=True)
class Through:
    """What the whole system did. lost: where a worker was killed meanwhile."""

    speed: Speed
    cpu: Cpu
    lost: Loss | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=SMALL_VOICE)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--segments", type=int, default=64, help="of all jobs together, about")
    parser.add_argument("--gate", choices=("basic", "off"), default="basic", help="off: random weights make noise")
    parser.add_argument("--alone", action=argparse.BooleanOptionalAction, default=True, help="the engine by itself")
    parser.add_argument("--kill-after", type=float, help="seconds until a GPU worker gets kill -9")
    parser.add_argument("--profile", type=ServingProfile, default=ServingProfile.THROUGHPUT)
    arguments = parser.parse_args()
    work = tuple(job_work(number, arguments.segments // arguments.jobs) for number in range(arguments.jobs))
    devices = parse_devices("--device", arguments.device)
    settings = NativeEngineSettings(
        arguments.checkpoint.resolve(), arguments.slots, device=devices[0], profile=arguments.profile
    )

    alone = measure_alone(settings, work) if arguments.alone else None
    system = measure_system(settings, devices, work, arguments.gate, arguments.kill_after)

    print(
        json.dumps(
            {
                "checkpoint": arguments.checkpoint.name,
                "machine": f"{platform.machine()}, {usable_cores()} cores, {arguments.device}",
                "slots": arguments.slots,
                "jobs": len(work),
                "segments": sum(len(job.segments) for job in work),
                **({} if alone is None else {"engine_alone": asdict(alone)}),
                "whole_system": asdict(system.speed),
                "cpu": asdict(system.cpu),
                **({} if alone is None else {"share_of_the_engine": shares(system.speed, alone)}),
                **({} if system.lost is None else {"killed_worker": asdict(system.lost)}),
            },
            indent=1,
        )
    )


def note(line: str) -> None:
    """Progress; standard output is for the figures."""
    print(line, file=sys.stderr, flush=True)


def job_work(number: int, num_segments: int) -> Work:
    """Fables told over and over until the planner makes that many segments of them."""
    fables = FABLES.read_text(encoding="utf-8").split("\n\n")
    paragraphs = [paragraph for paragraph in fables if len(paragraph) > 100]
    told: list[str] = []
    count = 0
    while count < num_segments:
        paragraph = paragraphs[len(told) % len(paragraphs)]
        told.append(paragraph)
        count += len(plan_segments(paragraph, Segmentation(), Pauses()))
    text = "\n\n".join(told)
    planned = plan_segments(text, Segmentation(), Pauses())
    return Work(text, 1000 + number, tuple(" ".join(segment.text.split()) for segment in planned))


def measure_alone(settings: NativeEngineSettings, work: Sequence[Work]) -> Speed:
    """In a process that ends with it: the stack's engine plans its memory by what is free."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        alone = child.submit(measure_engine, settings, work).result()
    note(f"engine alone: {asdict(alone)}")
    return alone


def shares(through: Speed, alone: Speed) -> dict[str, float]:
    return {
        "middle": round(through.middle_segments_per_s / alone.middle_segments_per_s, 3),
        "whole": round(alone.wall_s / through.wall_s, 3),
    }


def measure_engine(settings: NativeEngineSettings, work: Sequence[Work]) -> Speed:
    engine = NativeEngine(settings)
    try:
        voice = BuiltInSpeaker(engine.info.speakers[0])
        sampling = engine.info.default_sampling
        warm_up = SpeechRequest("warm-up", work[0].segments[0], voice, max_frames=WARM_UP_FRAMES)
        engine.submit(warm_up).result()
        # What was spoken is let go at once, as the system does: hours of samples would fill the memory.
        finished: SimpleQueue[tuple[float, Future[Speech]]] = SimpleQueue()

        def note_end(future: Future[Speech]) -> None:
            finished.put((time.perf_counter(), future))

        started_s = time.perf_counter()
        for job in work:
            for index, text in enumerate(job.segments):
                seed = segment_seed(job.seed, text)
                request = SpeechRequest(f"{job.seed}/{index}", text, voice, sampling=sampling, seed=seed)
                engine.submit(request).add_done_callback(note_end)
        total = sum(len(job.segments) for job in work)
        counts: list[tuple[float, int]] = []
        num_frames = 0
        for number in range(1, total + 1):
            moment_s, future = finished.get()
            counts.append((moment_s, number))
            num_frames += len(future.result().frames)
        wall_s = time.perf_counter() - started_s
    finally:
        engine.close()
    return _speed(wall_s, counts, total, num_frames / FRAMES_PER_S)


def measure_system(
    settings: NativeEngineSettings,
    devices: tuple[str, ...],
    work: Sequence[Work],
    gate: Literal["basic", "off"],
    kill_after_s: float | None,
) -> Through:
    with _stack(settings, devices) as (stack, folder), Rhapsode(stack.url) as client:
        voice = client.models()[0].speakers[0]
        quality: Quality = {"gate": gate}
        client.wait(client.submit_job(work[0].segments[0], voice=voice, quality=quality))
        started_s, before = time.perf_counter(), cpu_by_kind()
        jobs = [client.submit_job(job.text, voice=voice, seed=job.seed, quality=quality) for job in work]
        counts: list[tuple[float, int]] = []
        noted_s = started_s
        lost = None if kill_after_s is None else LostWorker(folder, [job.id for job in jobs], kill_after_s)
        while True:
            now = [client.job(job.id) for job in jobs]
            counts.append((time.perf_counter(), sum(job.progress.segments.done for job in now)))
            if all(job.finished_at for job in now):
                break
            if counts[-1][0] - noted_s > NOTE_S:
                noted_s = counts[-1][0]
                note(f"{counts[-1][1]} segments after {noted_s - started_s:.0f} s")
            time.sleep(POLL_S)
        wall_s, after = time.perf_counter() - started_s, cpu_by_kind()
        _require_same_segments(now, work)
        audio_s = sum(job.usage.audio_s for job in now if job.usage)
        loss = None if lost is None else lost.told()
    total = sum(len(job.segments) for job in work)
    spent = {kind: after[kind] - before.get(kind, 0.0) for kind in after}
    cpu = Cpu(
        {kind: round(seconds * 1000 / total, 2) for kind, seconds in spent.items()},
        round(spent["gpu_worker"] / wall_s, 2),
    )
    return Through(_speed(wall_s, counts, total, audio_s), cpu, loss)


def cpu_by_kind() -> dict[str, float]:
    """CPU seconds since their start of the processes below this one, by `PROCESSES`; the others as "others"."""
    spent: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words, times = process.cmdline(), process.cpu_times()
            kind = next((kind for kind, word in PROCESSES.items() if word in words), "others")
            spent[kind] = spent.get(kind, 0.0) + times.user + times.system
    return spent


def _require_same_segments(jobs: Sequence[Job], work: Sequence[Work]) -> None:
    for job, expected in zip(jobs, work, strict=True):
        job.raise_unless_succeeded()
        assert job.progress.segments.total == len(expected.segments), "the system planned other segments"


def _speed(wall_s: float, counts: Sequence[tuple[float, int]], total: int, audio_s: float) -> Speed:
    """counts: (moment, segments finished by then), growing."""
    first = next(entry for entry in counts if entry[1] >= total * 0.1)
    last = next(entry for entry in counts if entry[1] >= total * 0.9)
    segments_per_s = (last[1] - first[1]) / (last[0] - first[0])
    return Speed(
        wall_s=round(wall_s, 2),
        audio_s=round(audio_s, 1),
        audio_s_per_s=round(audio_s / wall_s, 2),
        middle_audio_s_per_s=round(segments_per_s * audio_s / total, 2),
        middle_segments_per_s=round(segments_per_s, 2),
    )


@contextmanager
def _stack(settings: NativeEngineSettings, devices: tuple[str, ...]) -> Generator[tuple[Stack, Path]]:
    with guarded_run() as folder:
        environment = without_settings(os.environ)
        environment["RHAPSODE_ENGINE_PROFILE"] = settings.profile.value
        options = StackOptions(
            folder,
            slots=settings.slots,
            checkpoint=settings.checkpoint,
            devices=devices,
            lifetime=Lifetime.SERVER,
        )
        with Stack(options, environment, lambda event: note(str(event))) as stack:
            stack.wait_ready()
            note("the stack is ready")
            yield stack, folder


if __name__ == "__main__":
    main()
