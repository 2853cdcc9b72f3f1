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
VNNI = {"avx512_vnni", "avx_vnni"}
TYPE_FIELD = b"\x22\x0bConvInteger"


@pytest.mark.skipif(files.processor_flags().isdisjoint(VNNI), reason="without VNNI the sums overflow")
def test_products_of_matrices_say_what_convolutions_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "processor_flags", lambda: {"avx2"})
    of_convolutions = files.read_model()
    monkeypatch.setattr(files, "processor_flags", lambda: {"avx2", "avx512_vnni"})
    of_products = files.read_model()

    convolved, multiplied = (said(model, "hˈɑɹbəɹ") for model in (of_convolutions, of_products))

    assert of_convolutions.count(TYPE_FIELD) == 87
    assert of_products.count(TYPE_FIELD) == 0
    assert len(convolved) > 12_000
    assert convolved.tobytes() == multiplied.tobytes()


def said(model: bytes, phones: str) -> Pcm:
    kokoro, call = KokoroModel(model, files.read_symbols(KOKORO)), ModelCall()
    style = load(files.read_voices(KOKORO))["af_heart"][len(phones) - 1].astype(np.float32)
    plan = kokoro.plan(phones, style, 1.0, 1.0, call)
    return kokoro.sound(plan, 0, plan.num_frames, call)
