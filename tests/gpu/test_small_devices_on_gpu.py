"""Devices that are not here: a small one, by limiting the allocator, and an old one, by its capability."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import torch

from worker.engine.cuda import capability
from worker.engine.interface import BuiltInSpeaker, FinishReason, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.settings import NativeEngineSettings

SMALL_VOICE = Path(__file__).parents[2] / "worker" / "small_voice"
GIB = 1 << 30
# CUDA's own memory is outside the allocator.
OUTSIDE_GIB = 0.7
NUM_FRAMES = 60
WAIT_S = 180


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published")
    draw_checkpoint(out, "1.7b", "custom_voice", torch.device("cuda:0"), eos_gain=0.0)
    torch.cuda.empty_cache()
    return out


@dataclass(frozen=True)
class CardUse:
    slots: int
    ends: list[FinishReason]
    most_reserved_bytes: int


@pytest.mark.parametrize("card_gib", [8, 16, 24, 48])
def test_all_slots_that_are_planned_for_a_small_card_speak_at_once(checkpoint: Path, card_gib: int) -> None:
    if torch.cuda.mem_get_info()[1] < card_gib * GIB:
        pytest.skip(f"the device has less than {card_gib} GiB")
    # The limit is the process's, and what earlier tests hold would count as the engine's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        used = child.submit(speak_in_all_slots, checkpoint, int((card_gib - OUTSIDE_GIB) * GIB)).result()

    assert used.slots >= 4
    assert used.ends == [FinishReason.LENGTH] * used.slots
    assert used.most_reserved_bytes <= (card_gib - OUTSIDE_GIB) * GIB


def speak_in_all_slots(checkpoint: Path, most_bytes: int) -> CardUse:
    torch.cuda.set_per_process_memory_fraction(most_bytes / torch.cuda.mem_get_info()[1])
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=512, device="cuda:0"))
    try:
        speaker = BuiltInSpeaker(engine.info.speakers[0])
        futures = [
            engine.submit(SpeechRequest(str(n), "The wind and the sun.", speaker, seed=n, max_frames=NUM_FRAMES))
            for n in range(engine.info.slots)
        ]
        ends = [future.result(WAIT_S).finish_reason for future in futures]
    finally:
        engine.close()
    return CardUse(engine.info.slots, ends, torch.cuda.max_memory_reserved())


def test_an_old_device_speaks_on_the_plain_path_as_the_cpu_does(monkeypatch: pytest.MonkeyPatch) -> None:
    old = replace(capability.cuda_device(torch.device("cuda:0")), has_triton=False)

    def told(_: torch.device) -> capability.CudaDevice:
        return old

    monkeypatch.setattr(capability, "cuda_device", told)
    capability.path_on.cache_clear()
    try:
        plain = NativeEngine(NativeEngineSettings(SMALL_VOICE, slots=4, device="cuda:0"))
    finally:
        capability.path_on.cache_clear()
    on_cpu = NativeEngine(NativeEngineSettings(SMALL_VOICE, slots=4))
    try:
        request = SpeechRequest("one", "Every morning the baker opened his shop.", BuiltInSpeaker("rms"), seed=7)
        here, there = (engine.submit(request).result(WAIT_S) for engine in (plain, on_cpu))
    finally:
        plain.close()
        on_cpu.close()

    assert here.finish_reason is there.finish_reason
    np.testing.assert_array_equal(here.frames[:4], there.frames[:4])
