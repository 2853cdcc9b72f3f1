"""Changes of the graph leave the speech as it was, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load

from worker.engine.interface import Pcm
from worker.engine.kokoro import files
from worker.engine.kokoro.model import KokoroModel, ModelCall
from worker.settings import PACKAGED

KOKORO = PACKAGED["kokoro"]
TYPE_FIELD = b"\x22\x0bConvInteger"


def test_a_processor_with_slow_integers_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "processor_flags", lambda: {"avx2", "avx512_vnni"})
    of_integers = files.read_model()
    monkeypatch.setattr(files, "processor_flags", lambda: {"avx2", "avx512_vnni", "amx_int8"})
    of_floats = files.read_model()

    integers, floats = (said(model, "hˈɑɹbəɹ") for model in (of_integers, of_floats))

    assert of_integers.count(TYPE_FIELD) == 87
    assert of_floats.count(TYPE_FIELD) == 0
    assert len(integers) > 12_000
    assert integers.tobytes() == floats.tobytes()


def said(model: bytes, phones: str) -> Pcm:
    kokoro, call = KokoroModel(model, files.read_symbols(KOKORO)), ModelCall()
    style = load(files.read_voices(KOKORO))["af_heart"][len(phones) - 1].astype(np.float32)
    plan = kokoro.plan(phones, style, 1.0, 1.0, call)
    return kokoro.sound(plan, 0, plan.num_frames, call)
