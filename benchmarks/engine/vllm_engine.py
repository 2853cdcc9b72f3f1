"""The vLLM engine beside the native one on the same machine: start, time of a step, memory, and whether they agree.

    .venv-vllm/bin/python benchmarks/engine/vllm_engine.py [--checkpoint worker/small_voice] [--slots 1 8]
        [--device cpu] [--frames 60]

`make vllm-test` makes the environment. Each engine runs in a process of its own. A step is one frame of every request:
as many requests as there are slots, all of the same length, so a step is the wall time by the frames of one request;
the codec runs beside it. Start: from the settings to the engine that takes requests, imports included.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

from worker.engine.build import build_engine
from worker.engine.cores import usable_cores
from worker.engine.interface import BuiltInSpeaker, Engine, SpeechRequest
from worker.engine.settings import EngineSettings, NativeEngineSettings, VllmEngineSettings

TEXT = "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background."
FRAMES_PER_SECOND = 12.5
ADAPTER = Path(__file__).resolve().parents[2] / "worker" / "engine" / "vllm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ADAPTER.parents[1] / "small_voice")
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--frames", type=int, default=60, help="the most that a request speaks")
    parser.add_argument("--only", choices=("native", "vllm"), help="one engine, in this process")
    arguments = parser.parse_args()
    # transformers asks whether there is a module `kernels`, and would find the benchmark of that name.
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
    if arguments.only:
        print(json.dumps(measure(settings_of(arguments, arguments.slots[0]), arguments.frames)))
        return
    rows = [measured_apart(name, slots) for slots in arguments.slots for name in ("native", "vllm")]
    facts = {
        "checkpoint": arguments.checkpoint.name,
        "machine": f"{platform.machine()}, {usable_cores()} cores, {arguments.device}",
        "load_before": round(os.getloadavg()[0], 2),
        "adapter_lines": sum(len(path.read_text().splitlines()) for path in ADAPTER.glob("*.py")),
        "same_codes": all(one["codes"] == other["codes"] for one, other in zip(rows[::2], rows[1::2], strict=True)),
    }
    print(json.dumps({**facts, "engines": rows}, indent=1))


def measured_apart(name: str, slots: int) -> dict[str, object]:
    """By this program in a process of its own, with what this one was told."""
    outcome = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--only", name, "--slots", str(slots)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {"engine": name, "slots": slots, **json.loads(outcome.stdout.splitlines()[-1])}


def settings_of(arguments: argparse.Namespace, slots: int) -> EngineSettings:
    if arguments.only == "native":
        return NativeEngineSettings(arguments.checkpoint, slots, arguments.device, arguments.threads)
    return VllmEngineSettings(arguments.checkpoint, slots, arguments.device, arguments.threads)


def measure(settings: EngineSettings, max_frames: int) -> dict[str, object]:
    began_s = time.perf_counter()
    engine = build_engine(settings)
    start_s = time.perf_counter() - began_s
    try:
        speak(engine, settings.slots, 4)
        began_s, cpu_began_s = time.perf_counter(), time.process_time()
        codes, frames = speak(engine, settings.slots, max_frames)
        wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_began_s
    finally:
        engine.close()
    return {
        "start_s": round(start_s, 1),
        "step_ms": round(1000 * wall_s * settings.slots / frames, 1),
        "step_cpu_ms": round(1000 * cpu_s * settings.slots / frames, 1),
        "audio_s_per_s": round(frames / FRAMES_PER_SECOND / wall_s, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "peak_gpu_mib": peak_gpu_mib(),
        "codes": codes,
    }


def peak_gpu_mib() -> int | None:
    """What torch, and vLLM through it, has ever held; None where nothing ran on a GPU."""
    import torch  # the process that only starts others does not need it

    return torch.cuda.max_memory_reserved() >> 20 if torch.cuda.is_initialized() else None


def speak(engine: Engine, num_requests: int, max_frames: int) -> tuple[str, int]:
    """A digest of all codes, and how many frames they are."""
    speaker = BuiltInSpeaker(engine.info.speakers[0])
    sampling = engine.info.default_sampling
    futures = [
        engine.submit(SpeechRequest(str(n), TEXT, speaker, sampling=sampling, seed=n, max_frames=max_frames))
        for n in range(num_requests)
    ]
    speeches = [future.result() for future in futures]
    digest = hashlib.sha256(b"".join(speech.frames.tobytes() for speech in speeches))
    return digest.hexdigest()[:12], sum(len(speech.frames) for speech in speeches)


if __name__ == "__main__":
    main()
