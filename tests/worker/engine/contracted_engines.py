"""Engines of every kind, and what the tests of their contract ask of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.worker.engine.decoder.decoder_worker import DecoderWorker
from worker.engine.build import build_engine
from worker.engine.interface import BuiltInSpeaker, Engine, Speech, SpeechRequest, TextMode, Urgency
from worker.engine.model.pulled import PACKAGED
from worker.engine.settings import (
    EngineSettings,
    FakeEngineSettings,
    KokoroEngineSettings,
    NativeEngineSettings,
    VllmEngineSettings,
)
from worker.engine.vllm.supported_versions import installed

ENGINES = ("fake", "native", "kokoro") if installed() is None else ("fake", "native", "kokoro", "vllm")
WAIT_S = 60
SLOTS = 3
ENDLESS = "and so on and so forth, " * 11


@dataclass(frozen=True)
class Case:
    """How one kind of engine is built."""

    settings: EngineSettings

    def build(self, slots: int = SLOTS) -> Engine:
        if isinstance(self.settings, VllmEngineSettings):
            pass_over_what_is_loaded()
        return build_engine(replace(self.settings, slots=slots))


def pass_over_what_is_loaded() -> None:
    """Before an engine of vLLM: its start looks for garbage four times, in all that an earlier one's end unfroze."""
    gc.freeze()


def case_of(engine: str, tiny_checkpoint: Path) -> Case:
    match engine:
        case "fake":
            return Case(FakeEngineSettings())
        case "kokoro":
            return Case(KokoroEngineSettings(PACKAGED["kokoro"]))
        case "vllm":
            return Case(VllmEngineSettings(tiny_checkpoint, num_threads=1))
        case "decoder apart":
            return Case(NativeEngineSettings(tiny_checkpoint, num_threads=1, decoder_devices=("cpu",)))
        case "decoder worker":
            address = DecoderWorker.of_this_run(tiny_checkpoint).address
            return Case(NativeEngineSettings(tiny_checkpoint, num_threads=1, decoder_devices=(address,)))
        case _:
            return Case(NativeEngineSettings(tiny_checkpoint, num_threads=1))


def request_for(engine: Engine, request_id: str = "one", text: str = "Hello there.", frames: int = 6) -> SpeechRequest:
    speaker = BuiltInSpeaker(engine.info.speakers[0])
    return SpeechRequest(request_id, text, speaker, sampling=engine.info.default_sampling, max_frames=frames)


def endless(engine: Engine, request_id: str) -> SpeechRequest:
    return request_for(engine, request_id, ENDLESS, 1000)


def endless_stream(engine: Engine, request_id: str) -> SpeechRequest:
    """Somebody listens to it: an engine of whole sentences begins with a piece of the sentence."""
    return replace(endless(engine, request_id), urgency=Urgency.LIVE, is_opening=True)


def result(future: Future[Speech]) -> Speech:
    return future.result(timeout=WAIT_S)


def wait_until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline_s, "it did not come true"
        time.sleep(0.002)


def assert_same(one: Speech, other: Speech) -> None:
    np.testing.assert_array_equal(one.frames, other.frames)
    np.testing.assert_array_equal(one.pcm, other.pcm)


def live_request_for(engine: Engine, request_id: str, text: str, frames: int = 200) -> SpeechRequest:
    request = request_for(engine, request_id, text, frames)
    return replace(request, urgency=Urgency.LIVE, text_mode=TextMode.PER_FRAME, seed=1)
