"""First audio of live streams in the engine, alone and beside jobs that fill their slots.

    python benchmarks/live/beside_jobs.py --device cuda:0 --rates 20,100 [--beside bulk]

Writes a random checkpoint of the size unless `--checkpoint` names one. Streams arrive at an even rate and last
`--frames` frames. First audio counts in the second half of a measurement, once the number of streams is stable. Jobs
get a new segment for each that ends. Prints a line of JSON for each rate, in ms.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import torch

from benchmarks.rig import FABLES, FRAME_S, numbers, parser
from rhapsode.bench.statistics import percentile
from worker.engine.interface import BuiltInSpeaker, Speech, SpeechChunk, SpeechRequest, Urgency
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.settings import GPU_SLOTS, NativeEngineSettings

MOST_S = 120.0
POLL_S = 0.003


class Requests:
    """Distinct requests over the fables, each with its seed."""

    def __init__(self, engine: NativeEngine) -> None:
        self._numbers = count(1)
        self._speaker = BuiltInSpeaker(engine.info.speakers[0])
        self._words = FABLES.read_text("utf-8").split()
        self._random = random.Random(1)

    def next(self, urgency: Urgency, frames: int) -> SpeechRequest:
        number, start = next(self._numbers), self._random.randrange(len(self._words) - 12)
        text = " ".join(self._words[start : start + 12])
        return SpeechRequest(str(number), text, self._speaker, seed=number, max_frames=frames, urgency=urgency)


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch, torch.inference_mode():
        checkpoint = given.checkpoint or Path(scratch)
        if given.checkpoint is None:
            draw_checkpoint(checkpoint, given.size, "custom_voice", torch.device(given.device), 0.0)
        live_slots = None if given.device.startswith("cuda") else given.slots
        engine = NativeEngine(
            NativeEngineSettings(checkpoint, given.slots, live_slots, given.device, profile=given.profile)
        )
        requests = Requests(engine)
        for beside in (None, *given.beside):
            with jobs_running(engine, requests, beside, given):
                for rate in given.rates:
                    print(
                        json.dumps({"beside": beside, "rate": rate, **measure(engine, requests, rate, given)}),
                        flush=True,
                    )
        engine.close()


@contextmanager
def jobs_running(
    engine: NativeEngine, requests: Requests, urgency: Urgency | None, given: argparse.Namespace
) -> Generator[None]:
    """As many segments as there are slots, at any time."""
    stop, running = threading.Event(), set[Future[Speech]]()

    def feed() -> None:
        while urgency is not None and not stop.wait(POLL_S):
            running.difference_update([future for future in running if future.done()])
            running.update(
                engine.submit(requests.next(urgency, given.job_frames)) for _ in range(engine.info.slots - len(running))
            )

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for future in running:
            future.result(MOST_S)


def measure(engine: NativeEngine, requests: Requests, rate: int, given: argparse.Namespace) -> dict[str, object]:
    first_ms: list[float] = []
    whole_ms: list[float] = []
    behind: list[int] = []
    streams: list[Future[Speech]] = []
    before, began_s = engine.stats(), time.monotonic()
    for number in range(round(rate * given.seconds)):
        time.sleep(max(0.0, began_s + number / rate - time.monotonic()))
        counts = number >= rate * given.seconds / 2
        streams.append(_stream(engine, requests.next(Urgency.LIVE, given.frames), first_ms if counts else [], whole_ms))
        behind.append(engine.stats().codec_waiting_frames)
    after, took_s = engine.stats(), time.monotonic() - began_s
    for stream in streams:
        stream.result(MOST_S)
    return {
        "first_ms": round(percentile(first_ms, 0.5), 1),
        "first_p95_ms": round(percentile(first_ms, 0.95), 1),
        "whole_ms": round(percentile(whole_ms, 0.5)),
        "audio_s_per_s": round((after.frames - before.frames) * FRAME_S / took_s, 1),
        "codec_waiting_frames": max(behind),
    }


def _stream(
    engine: NativeEngine, request: SpeechRequest, first_ms: list[float], whole_ms: list[float]
) -> Future[Speech]:
    began_s, heard = time.monotonic(), threading.Event()

    def on_audio(_: SpeechChunk) -> None:
        if not heard.is_set():
            heard.set()
            first_ms.append((time.monotonic() - began_s) * 1000)

    future = engine.submit(request, on_audio)
    future.add_done_callback(lambda _: whole_ms.append((time.monotonic() - began_s) * 1000))
    return future


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--size", choices=("0.6b", "1.7b"), default="1.7b")
    options.add_argument("--checkpoint", type=Path, help="instead of random weights")
    options.add_argument("--scratch", type=Path, help="folder for the random checkpoint; memory-backed is fastest")
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--profile", type=ServingProfile, default=ServingProfile.BALANCED)
    options.add_argument("--slots", type=int, default=GPU_SLOTS)
    options.add_argument("--rates", type=numbers, default=[1, 20, 100], help="streams a second")
    options.add_argument("--beside", type=Urgency, nargs="*", default=[Urgency.BULK, Urgency.INTERACTIVE])
    options.add_argument("--seconds", type=float, default=8.0, help="of each rate")
    options.add_argument("--frames", type=int, default=65, help="of a stream")
    options.add_argument("--job-frames", type=int, default=75, help="of a segment of a job")
    return options.parse_args()


if __name__ == "__main__":
    main()
