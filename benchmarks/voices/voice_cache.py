"""What a cached voice costs to make, to find and to keep.

    python benchmarks/voices/voice_cache.py [--checkpoint DIR] [--size tiny] [--voices 40] [--seconds 5] [--device cpu]
    python benchmarks/voices/voice_cache.py --size 1.7b --voices 400 --seconds 10 --threads 32 --device cuda:0

Without a checkpoint a random one of the published layout and the given size (tiny, 0.6b, 1.7b) is written first; its
speech is noise, its costs are real. Everything runs for real: a Valkey of its own, a folder store, the decoder of
recordings, the engine in its process. Builds go through the queue, one item a voice, on `--threads` threads as in a
worker. The costs are those of the first profile's engine, the last table has one for each profile.

    decode       a FLAC recording to samples, in its limited process
    encode       samples to the engine's prompt, without the queue: one at a time, and all at once
    build        all of it through the queue: claim, decode, encode, store, commit; CPU of the worker and its decoder
    load         from the store into memory, checked
    hit          from memory: what a segment pays
    first audio  a short segment until its first samples: with nothing made, from the store, from memory
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import redis

from benchmarks.voices.voice_building import build_all, decoder_cpu
from benchmarks.voices.voice_first_audio import first_audio
from benchmarks.voices.voice_rig import (
    REF_TEXT,
    TENANT,
    Bench,
    Times,
    bench,
    create_voice,
    recording_of,
    write_checkpoint,
)
from rhapsode.contract.voices.modes import CacheMode
from storage.audio.recordings import DecodedRecording, decode_recording
from storage.database.voice_keys import VoiceKeys
from tests.run_guard import guarded_run
from worker.engine.interface import Engine, ReferenceAudio
from worker.engine.profiles import ServingProfile
from worker.engine.settings import NativeEngineSettings
from worker.voices.voice_files import memory_bytes

PROFILES = (ServingProfile.BALANCED, ServingProfile.LATENCY)

Figures = dict[str, dict[str, float]]
"""By mode, then by name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--size", default="tiny", choices=("tiny", "0.6b", "1.7b"))
    parser.add_argument("--voices", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each recording")
    parser.add_argument("--threads", type=int, default=4, help="items prepared at the same time")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--profiles", type=ServingProfile, nargs="+", default=PROFILES)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args()
    with guarded_run() as folder:
        checkpoint = options.checkpoint or write_checkpoint(folder / options.size, options.size, options.device)
        modes, waits = measure_profiles(options, checkpoint, folder)
    result = {
        "machine": platform.machine(),
        "device": options.device,
        "checkpoint": checkpoint.name,
        "voices": options.voices,
        "recording_s": options.seconds,
        "threads": options.threads,
        "modes": modes,
        "first_audio": waits,
    }
    print(json.dumps(result)) if options.json else print_tables(modes, waits)


def measure_profiles(options: argparse.Namespace, checkpoint: Path, folder: Path) -> tuple[Figures, dict[str, Figures]]:
    """The costs of the first profile's engine, and what first audio waits for in each of them."""
    costs: Figures = {}
    waits: dict[str, Figures] = {}
    for profile in options.profiles:
        settings = NativeEngineSettings(checkpoint, slots=4, device=options.device, profile=profile)
        with bench(folder / profile.value, settings, options.threads) as rig:
            usable = {mode.value for mode in rig.services.engine.info.voice_modes}
            modes = [mode for mode in CacheMode if mode.value in usable]
            for mode in modes if profile is options.profiles[0] else ():
                costs[mode.value] = measure(rig, mode, options)
                note(f"costs of {mode}", costs[mode.value])
            waits[profile.value] = {}
            for mode in modes:
                waits[profile.value][mode.value] = first_audio(rig, mode, options.seconds)
                note(f"first audio of {mode}, {profile}", waits[profile.value][mode.value])
    return costs, waits


def note(what: str, figures: dict[str, float]) -> None:
    """What is known already, should the run be cut short."""
    said = ", ".join(f"{name} {figure:.4g}" for name, figure in figures.items())
    print(f"{what}: {said}", file=sys.stderr, flush=True)


def measure(rig: Bench, mode: CacheMode, options: argparse.Namespace) -> dict[str, float]:
    num_voices = options.voices
    with ThreadPoolExecutor() as pool:
        recordings = list(pool.map(partial(recording_of, options.seconds), range(num_voices)))
    few = recordings[:10]
    decode, encode, load, hit = Times(), Times(), Times(), Times()
    decode_recording(few[0])  # the first one starts the fork server
    decoded = [decode.run(lambda data=data: decode_recording(data)) for data in few]
    engine = rig.services.engine
    references = [reference_of(each, mode) for each in decoded]
    engine.encode_voice(references[0]).result()  # the first one chooses kernels
    prompts = [encode.run(lambda audio=audio: engine.encode_voice(audio).result()) for audio in references]
    together_per_s = encoded_together_per_s(engine, references, num_voices)
    before = memory_of(rig.client)
    voices = [create_voice(rig, mode, data, f"{mode} {index}") for index, data in enumerate(recordings)]
    with decoder_cpu() as decoder_cpu_s:
        built = build_all(rig, voices, options.threads)
    redis_bytes = (memory_of(rig.client) - before) / num_voices
    stored = sum(entry.bytes for entry in rig.services.artifacts.list(f"voice-caches/{TENANT}/")) / num_voices
    worker = rig.forgetful()
    for voice in voices:
        load.run(lambda voice=voice: worker.resolve(voice, rig.hold()))
    held = rig.hold()
    for _ in range(50):
        for voice in voices:
            hit.run(lambda voice=voice: worker.resolve(voice, held))
    rig.services.artifacts.delete_prefix(f"voice-caches/{TENANT}/")
    return {
        "decode_ms": decode.figures()["p50_ms"],
        "encode_ms": encode.figures()["p50_ms"],
        "encode_together_voices_per_s": together_per_s,
        "build_voices_per_s": num_voices / built.wall_s,
        "build_worker_cpu_ms": 1000 * built.worker_cpu_s / num_voices,
        "build_decoder_cpu_ms": 1000 * decoder_cpu_s() / num_voices,
        "load_ms": load.figures()["p50_ms"],
        "hit_us": 1000 * hit.figures()["p50_ms"],
        "hit_p95_us": 1000 * hit.figures()["p95_ms"],
        "memory_bytes": statistics.mean(map(memory_bytes, prompts)),
        "file_bytes": stored,
        "redis_bytes": redis_bytes,
    }


def reference_of(recording: DecodedRecording, mode: CacheMode) -> ReferenceAudio:
    pcm = np.frombuffer(recording.pcm, np.float32).copy()
    text = REF_TEXT if mode is CacheMode.IN_CONTEXT else None
    return ReferenceAudio(pcm, recording.facts.sample_rate_hz, text)


def encoded_together_per_s(engine: Engine, references: Sequence[ReferenceAudio], num_voices: int) -> float:
    """Voices per second when all of them are asked for at once. Encoding remembers nothing, so a few serve for many."""
    start = time.perf_counter()
    futures = [engine.encode_voice(references[number % len(references)]) for number in range(num_voices)]
    for future in futures:
        future.result()
    return num_voices / (time.perf_counter() - start)


def memory_of(client: redis.Redis) -> int:
    """Bytes of everything that is kept about voices."""
    return sum(
        int(client.memory_usage(key, samples=0) or 0) for key in client.scan_iter(f"{VoiceKeys('rhapsode').root}:*")
    )


def print_tables(costs: Figures, waits: dict[str, Figures]) -> None:
    print_table(costs)
    for profile, figures in waits.items():
        print(f"\nengine_profile {profile}")
        print_table(figures)


def print_table(modes: Figures) -> None:
    print(f"{'':<30}" + "".join(f"{mode:>14}" for mode in modes))
    for name in next(iter(modes.values())):
        print(f"{name:<30}" + "".join(f"{figures[name]:>14.4g}" for figures in modes.values()))


if __name__ == "__main__":
    main()
