"""Measures one engine in this process: `python -m rhapsode.bench.engine.measuring TASK`, an `EngineTask` as JSON.

Says what it is at and what it found, one line of JSON each, on standard output. A stage that fails is said, and the
next one begins; if the engine is gone with it, so is this process. `rhapsode bench` starts it, again where it must.
"""

from __future__ import annotations

import json
import logging
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np

from rhapsode.bench.children import report_to_parent
from rhapsode.bench.engine.report import (
    FRAME_S,
    START_STAGE,
    Begins,
    Card,
    ClosedLoop,
    Device,
    EngineTask,
    FirstAudio,
    Message,
    StageFailed,
    StageLeftOut,
    Started,
    first_audio_stage,
    streams_stage,
)
from worker.engine.cores import usable_cores
from worker.engine.cuda.capability import cuda_device
from worker.engine.cuda.device_memory import taken_bytes, total_and_free_bytes
from worker.engine.cuda.memory_plan import plan_slots_of_card
from worker.engine.decoder.device_lane import device_named
from worker.engine.errors import CheckpointError, EngineDied, EngineError, RequestCancelled, StartError
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    Engine,
    EngineInfo,
    OnAudio,
    ReferenceAudio,
    Speech,
    SpeechRequest,
    Urgency,
    VoiceMode,
)
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.serving.parts import DeviceMemory
from worker.engine.settings import NativeEngineSettings, Precision

# Longer than any reader of a text wants to wait, shorter than what a slot holds.
_LONG_FRAMES = 900
_HEARD_FRAMES = 60
_NOT_COUNTED = 3
_MOST_WARM_UP_S = 10.0
_FABLES = Path(__file__).resolve().parents[2] / "demo" / "fables.txt"


class NothingEnded(Exception):
    """No request came to its end in the time that there was."""


@dataclass(frozen=True, slots=True)
class DeliveryWindow:
    """Audio and requests that were delivered in `seconds`."""

    seconds: float
    requests: int
    audio_s: float

    @property
    def audio_s_per_s(self) -> float:
        return self.audio_s / self.seconds


@dataclass(frozen=True, slots=True)
class TimedSpeech:
    request_id: str
    submitted_s: float
    ended_s: float
    future: Future[Speech]


class Driver:
    """Requests of random texts and lengths for one engine. frames: least and most of a request."""

    def __init__(self, engine: Engine, voice: Conditioning, words: Sequence[str], frames: tuple[int, int]) -> None:
        self.engine = engine
        self._ended: SimpleQueue[TimedSpeech] = SimpleQueue()
        self._voice = voice
        self._words = words
        self._frames = frames
        self._random = random.Random(1)
        self._number = 0
        self._in_flight: set[str] = set()

    def submit(
        self, max_frames: int | None = None, on_audio: OnAudio | None = None, urgency: Urgency = Urgency.BULK
    ) -> str:
        """The request's id."""
        self._number += 1
        request_id = str(self._number)
        num_frames = max_frames or self._random.randint(*self._frames)
        request = SpeechRequest(
            request_id,
            self._text(num_frames),
            self._voice,
            sampling=self.engine.info.default_sampling,
            seed=self._number,
            max_frames=num_frames,
            urgency=urgency,
        )
        submitted_s = time.perf_counter()
        future = self.engine.submit(request, on_audio)
        self._in_flight.add(request_id)
        future.add_done_callback(
            lambda done: self._ended.put(TimedSpeech(request_id, submitted_s, time.perf_counter(), done))
        )
        return request_id

    def next_ended(self, timeout_s: float | None = None) -> TimedSpeech:
        """Raises `queue.Empty`."""
        ended = self._ended.get(timeout=timeout_s)
        self._in_flight.discard(ended.request_id)
        return ended

    def has_ended(self) -> bool:
        """Whether `next_ended` has one at once."""
        return not self._ended.empty()

    def finish(self) -> None:
        """Waits for all that is in flight. Raises what a request ends with, unless it was cancelled."""
        while self._in_flight:
            with suppress(RequestCancelled):
                self.next_ended().future.result()

    def stop(self) -> None:
        """Cancels all that is in flight, and waits for it."""
        for request_id in self._in_flight:
            self.engine.cancel(request_id)
        self.finish()

    def _text(self, num_frames: int) -> str:
        """About as many tokens as that much speech has; a random vocabulary spells letter by letter."""
        start = self._random.randrange(max(1, len(self._words) - 60))
        return " ".join(self._words[start : start + 60])[: min(100, max(8, num_frames // 3))].strip()


def warm_up(driver: Driver, requests: int = 8) -> None:
    for _ in range(requests):
        driver.submit(max_frames=8)
    driver.finish()


def closed_loop(
    driver: Driver, streams: int, window_s: float, most_s: float, look: Callable[[int], None] = lambda _: None
) -> DeliveryWindow:
    """The window begins once as many requests have ended as there are streams, and some seconds have passed.

    most_s: of all of it; the window ends earlier then. look: is called with the number of requests so far. Raises
    NothingEnded, and whatever a request ends with.
    """
    gives_up_s = time.perf_counter() + most_s
    begins_s = time.perf_counter() + min(_MOST_WARM_UP_S, window_s / 3)
    for _ in range(streams):
        driver.submit()
    ended, frames, requests = 0, 0, 0
    started_s = last_s = 0.0
    while not requests or last_s - started_s < window_s:
        try:
            done = driver.next_ended(max(0.0, gives_up_s - time.perf_counter()))
        except Empty:
            break
        num_frames = len(done.future.result().frames)
        driver.submit()
        ended += 1
        if not started_s:
            if done.ended_s > begins_s and ended >= streams:
                started_s = done.ended_s
            continue
        frames += num_frames
        requests += 1
        last_s = done.ended_s
        look(requests)
    driver.stop()
    if not requests:
        raise NothingEnded(f"fewer than {streams} requests ended in {most_s:.0f} s, too few to measure")
    return DeliveryWindow(last_s - started_s, requests, frames * FRAME_S)


def first_audio_ms(driver: Driver, running: int, samples: int, most_s: float) -> list[float]:
    """Time from submit to the first samples of each of `samples` interactive requests, beside `running` live streams.

    The running requests are long enough not to end before the last sample. A request is cancelled after its first
    audio. Fewer samples than asked for where the time was over. Raises NothingEnded.
    """
    gives_up_s = time.perf_counter() + most_s
    for _ in range(running):
        driver.submit(_LONG_FRAMES, lambda _: None)
    time.sleep(0.6 if running else 0.0)
    waits_ms: list[float] = []
    for number in range(samples + _NOT_COUNTED):
        heard: SimpleQueue[float] = SimpleQueue()
        submitted_s = time.perf_counter()
        request_id = driver.submit(
            _HEARD_FRAMES, lambda _, heard=heard: heard.put(time.perf_counter()), Urgency.INTERACTIVE
        )
        try:
            first_s = heard.get(timeout=max(0.0, gives_up_s - time.perf_counter()))
        except Empty:
            break
        if number >= _NOT_COUNTED:
            waits_ms.append(1e3 * (first_s - submitted_s))
        driver.engine.cancel(request_id)
        time.sleep(0.02)
    driver.stop()
    if not waits_ms:
        raise NothingEnded(f"no first audio in {most_s:.0f} s")
    return waits_ms


CARDS_GIB = (8, 16, 24, 48)
MOST_WINDOW_S, LEAST_WINDOW_S = 8.0, 2.0
_AUDIO_SAMPLES = 20
_GRACE_S = 45.0
"""Of a stage that stands still, beyond the time for all of them; then the process ends."""

Stage = tuple[str, Callable[[float], Message]]
"""Its name, and what it finds in so many seconds."""


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    task = EngineTask(**json.loads(sys.argv[1]))
    until_s = time.monotonic() + task.seconds
    signal.alarm(round(task.seconds + _GRACE_S))
    report_to_parent(device_of(task))
    report_to_parent(Begins(START_STAGE))
    try:
        engine, started = start(task)
    except (StartError, RuntimeError, MemoryError) as error:  # CUDA's, out of memory among them
        report_to_parent(StageFailed(START_STAGE, one_line(error), is_final=isinstance(error, StartError)))
        return
    report_to_parent(started)
    words = _FABLES.read_text(encoding="utf-8").split()
    driver = Driver(engine, voice_for(engine), words, (task.frames[0], task.frames[1]))
    try:
        warm_up(driver)
        measure(driver, stages_of(task, driver), until_s)
    except EngineDied as error:
        sys.exit(f"the engine has ended: {one_line(error)}")
    engine.close()


def measure(driver: Driver, stages: list[Stage], until_s: float) -> None:
    """Each stage has an even share of what time there is left."""
    for number, (name, find) in enumerate(stages):
        left_s = until_s - time.monotonic()
        share_s = left_s / (len(stages) - number)
        if left_s < LEAST_WINDOW_S * 2:
            report_to_parent(StageLeftOut(name, "the time was over"))
            continue
        report_to_parent(Begins(name))
        try:
            report_to_parent(find(max(share_s, LEAST_WINDOW_S * 2)))
        except NothingEnded as error:
            report_to_parent(StageFailed(name, str(error)))
        except (EngineError, RuntimeError, MemoryError) as error:
            report_to_parent(StageFailed(name, one_line(error)))
            driver.stop()  # raises if the engine has gone with it, and this process goes as well


def stages_of(task: EngineTask, driver: Driver) -> list[Stage]:
    """Of the streams, those that the engine has slots for; where it has fewer than the most, all that it has."""
    slots = driver.engine.info.slots
    streams = sorted({min(wanted, slots) for wanted in task.streams})
    heard = [running for running in task.first_running if running < slots]
    return [
        *((first_audio_stage(running), partial(_first_audio, driver, running)) for running in heard),
        *((streams_stage(count), partial(_closed_loop, driver, task.device, count)) for count in streams),
    ]


def _first_audio(driver: Driver, running: int, most_s: float) -> FirstAudio:
    waits_ms = first_audio_ms(driver, running, _AUDIO_SAMPLES, most_s)
    return FirstAudio(running, tuple(round(wait_ms, 2) for wait_ms in waits_ms))


def _closed_loop(driver: Driver, device: str, streams: int, most_s: float) -> ClosedLoop:
    window = closed_loop(driver, streams, min(MOST_WINDOW_S, most_s / 2), most_s)
    return ClosedLoop(
        streams=streams,
        window_s=round(window.seconds, 2),
        requests=window.requests,
        audio_s_per_s=round(window.audio_s_per_s, 2),
        real_time_per_stream=round(window.audio_s_per_s / streams, 2),
        memory_bytes=memory_bytes(device),
    )


def start(task: EngineTask) -> tuple[NativeEngine, Started]:
    """Raises StartError, and whatever CUDA raises."""
    began_s = time.perf_counter()
    folder = Path(task.checkpoint)
    if task.draw_size is not None and not folder.is_dir():
        draw(folder, task.draw_size, task.device)
    written_s = time.perf_counter()
    precision = Precision(task.precision)
    engine = NativeEngine(
        NativeEngineSettings(
            folder,
            slots=task.slots,
            device=task.device,
            profile=ServingProfile(task.profile),
            kv_precision=precision,
            mlp_precision=precision,
        )
    )
    return engine, Started(
        checkpoint_s=round(written_s - began_s, 1),
        start_s=round(time.perf_counter() - written_s, 1),
        slots=engine.info.slots,
        memory_bytes=memory_bytes(task.device),
        cards=cards(engine.memory, task.slots),
    )


def draw(folder: Path, size: str, device: str) -> None:
    """Whole, or not there: who is ended while writing leaves nothing that looks like a checkpoint."""
    partial = folder.with_name(f"{folder.name}.partial")
    draw_checkpoint(partial, size, "custom_voice", device_named(device), eos_gain=0.0)
    partial.rename(folder)


def cards(here: DeviceMemory | None, wanted: int) -> tuple[Card, ...]:
    """By the function that planned this engine's own slots, from what lay beside them here."""
    if here is None:
        return ()
    found: list[Card] = []
    for gib in CARDS_GIB:
        try:
            plan = plan_slots_of_card(gib << 30, wanted, here)
        except CheckpointError:
            found.append(Card(gib, 0, 0))
        else:
            found.append(Card(gib, plan.num_slots, plan.capacity))
    return tuple(found)


def voice_for(engine: NativeEngine) -> Conditioning:
    """The checkpoint's first, or a description, or a clone of a buzz: what is said makes no difference here."""
    info = engine.info
    if info.speakers:
        return BuiltInSpeaker(info.speakers[0])
    if VoiceMode.X_VECTOR in info.voice_modes:
        return engine.encode_voice(ReferenceAudio(_buzz(info), info.sample_rate_hz)).result()
    return DesignedVoice("A calm voice of middle age.")


def _buzz(info: EngineInfo) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    t = np.arange(3 * info.sample_rate_hz) / info.sample_rate_hz
    tones = sum(np.sin(2 * np.pi * 110 * n * t) / n for n in range(1, 10))
    return (0.15 * tones * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * t))).astype(np.float32)


def memory_bytes(device: str) -> int:
    if device.startswith("cuda"):
        return taken_bytes(device_named(device))
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def device_of(task: EngineTask) -> Device:
    torch_version, triton_version = _version("torch") or "", _version("triton")
    if not task.device.startswith("cuda"):
        return Device(task.device, f"CPU, {usable_cores()} cores", None, None, torch_version, triton_version)
    device = device_named(task.device)
    found, (total_bytes, _) = cuda_device(device), total_and_free_bytes(device)
    capability = f"{found.capability[0]}.{found.capability[1]}"
    return Device(task.device, found.name, capability, total_bytes, torch_version, triton_version)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def one_line(error: BaseException) -> str:
    """The error and its causes, which say why an engine died."""
    lines = [_first_line(error)]
    while (cause := error.__cause__) is not None:
        lines.append(_first_line(cause))
        error = cause
    return "; ".join(lines)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    main()
