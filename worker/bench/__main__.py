"""Measures one engine in this process: `python -m worker.bench TASK`, an `EngineTask` as JSON.

Says what it is at and what it found, one line of JSON each, on standard output. A stage that fails is said, and the
next one begins; if the engine is gone with it, so is this process. `rhapsode bench` starts it, again where it must.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from worker.bench.loads import Driver, NothingEnded, closed_loop, first_audio_ms, warm_up
from worker.bench.messages import (
    START_STAGE,
    Begins,
    Card,
    ClosedLoop,
    Device,
    EngineTask,
    Failed,
    FirstAudio,
    LeftOut,
    Message,
    Started,
    first_audio_stage,
    streams_stage,
)
from worker.engine.cores import usable_cores
from worker.engine.cuda.capability import cuda_device
from worker.engine.cuda.device_memory import taken_bytes, total_and_free_bytes
from worker.engine.cuda.memory_plan import plan_slots_of_card
from worker.engine.errors import CheckpointError, EngineDied, EngineError, StartError
from worker.engine.interface import BuiltInSpeaker, Conditioning, DesignedVoice, EngineInfo, ReferenceAudio, VoiceMode
from worker.engine.loading import device_named
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.serving.parts import DeviceMemory
from worker.engine.settings import NativeEngineSettings, Precision

CARDS_GIB = (8, 16, 24, 48)
MOST_WINDOW_S, LEAST_WINDOW_S = 8.0, 2.0
CPU_WINDOW_S = 3.0
"""On a CPU the small voice is measured, in short: its figures are those of no published model."""

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
    say(device_of(task))
    say(Begins(START_STAGE))
    try:
        engine, started = start(task)
    except StartError as error:
        say(Failed(START_STAGE, one_line(error), is_final=True))
        return
    except (RuntimeError, MemoryError) as error:  # CUDA's, out of memory among them
        say(Failed(START_STAGE, one_line(error)))
        return
    say(started)
    driver = Driver(engine, voice_for(engine), words_of(task), (task.frames[0], task.frames[1]))
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
            say(LeftOut(name, "the time was over"))
            continue
        say(Begins(name))
        try:
            say(find(max(share_s, LEAST_WINDOW_S * 2)))
        except NothingEnded as error:
            say(Failed(name, str(error)))
        except (EngineError, RuntimeError, MemoryError) as error:
            say(Failed(name, one_line(error)))
            driver.stop()  # raises if the engine has gone with it, and this process goes as well


def stages_of(task: EngineTask, driver: Driver) -> list[Stage]:
    """Of the streams, those that the engine has slots for; where it has fewer than the most, all that it has."""
    slots = driver.engine.info.slots
    streams = sorted({min(wanted, slots) for wanted in task.streams})
    heard = [running for running in task.first_running if running < slots]
    return [
        *((first_audio_stage(running), _first_audio(driver, running)) for running in heard),
        *((streams_stage(count), _closed_loop(driver, count, task.device)) for count in streams),
    ]


def _first_audio(driver: Driver, running: int) -> Callable[[float], FirstAudio]:
    def find(most_s: float) -> FirstAudio:
        waits_ms = first_audio_ms(driver, running, _AUDIO_SAMPLES, most_s)
        return FirstAudio(running, tuple(round(wait_ms, 2) for wait_ms in waits_ms))

    return find


def _closed_loop(driver: Driver, streams: int, device: str) -> Callable[[float], ClosedLoop]:
    def find(most_s: float) -> ClosedLoop:
        window_s = MOST_WINDOW_S if device.startswith("cuda") else CPU_WINDOW_S
        window = closed_loop(driver, streams, min(window_s, most_s / 2), most_s)
        return ClosedLoop(
            streams=streams,
            window_s=round(window.seconds, 2),
            requests=window.requests,
            audio_s_per_s=round(window.audio_s_per_s, 2),
            real_time_per_stream=round(window.audio_s_per_s / streams, 2),
            memory_bytes=memory_bytes(device),
        )

    return find


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


def words_of(task: EngineTask) -> list[str]:
    return Path(task.words).read_text(encoding="utf-8").split()


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
    """With what is behind it: an engine that died says in its cause what of."""
    lines = [_first_line(error)]
    while (cause := error.__cause__) is not None:
        lines.append(_first_line(cause))
        error = cause
    return "; ".join(lines)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(asdict(message)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
