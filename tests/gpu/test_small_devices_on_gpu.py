"""Devices that are not here: a small one, by limiting the allocator, and an old one, by its capability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


@pytest.fixture
def limited() -> Iterator[None]:
    """Whatever share a test takes, the next has the whole device."""
    yield
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("card_gib", [8, 16, 24, 48])
def test_all_slots_that_are_planned_for_a_small_card_speak_at_once(checkpoint: Path, card_gib: int) -> None:
    _, total = torch.cuda.mem_get_info()
    if total < card_gib * GIB:
        pytest.skip(f"the device has less than {card_gib} GiB")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.set_per_process_memory_fraction((card_gib - OUTSIDE_GIB) * GIB / total)
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

    assert engine.info.slots >= 4
    assert ends == [FinishReason.LENGTH] * engine.info.slots
    assert torch.cuda.max_memory_reserved() <= (card_gib - OUTSIDE_GIB) * GIB


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
