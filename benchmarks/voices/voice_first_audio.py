"""How long a cloned voice is waited for, until its first samples can be heard."""

from __future__ import annotations

import time
from queue import SimpleQueue

from benchmarks.voices.voice_building import build_all
from benchmarks.voices.voice_rig import Bench, Times, create_voice, recording_of
from rhapsode.contract.voices.modes import CacheMode
from storage.narration.voice_reference import VoiceReference
from worker.engine.interface import SpeechRequest, Urgency
from worker.voices.resolving import VoiceResolver

SENTENCE = "He took it off."
SPOKEN_FRAMES = 12
NUM_VOICES = 8


def first_audio(rig: Bench, mode: CacheMode, seconds: float) -> dict[str, float]:
    """One short segment in three states of its voice; the medians of some voices."""
    cold, stored, warm = Times(), Times(), Times()
    for seed in range(NUM_VOICES + 1):
        voice = create_voice(rig, mode, recording_of(seconds, 1_000 + seed), f"{mode} first {seed}")
        fresh = rig.forgetful()
        waits_s = [_wait_s(rig, fresh, voice), _wait_s(rig, fresh, voice)]
        build_all(rig, [voice], 1)
        waits_s.append(_wait_s(rig, rig.forgetful(), voice))
        if seed:  # with the first one, the engine chooses its kernels
            for times, wait_s in zip((cold, warm, stored), waits_s, strict=True):
                times.milliseconds.append(1000 * wait_s)
    return {
        "first_audio_cold_ms": cold.figures()["p50_ms"],
        "first_audio_stored_ms": stored.figures()["p50_ms"],
        "first_audio_warm_ms": warm.figures()["p50_ms"],
    }


def _wait_s(rig: Bench, resolver: VoiceResolver, voice: VoiceReference) -> float:
    """From the wish to the first samples. The engine is idle again afterwards."""
    heard: SimpleQueue[float] = SimpleQueue()
    start_s = time.perf_counter()
    prompt = resolver.resolve(voice, rig.hold())
    request = SpeechRequest(
        str(time.monotonic_ns()), SENTENCE, prompt, max_frames=SPOKEN_FRAMES, urgency=Urgency.INTERACTIVE
    )
    speech = rig.services.engine.submit(request, lambda _: heard.put(time.perf_counter()))
    speech.add_done_callback(lambda _: heard.put(time.perf_counter()))  # also if it fails before anything is heard
    first_s = heard.get()
    speech.result()
    return first_s - start_s
