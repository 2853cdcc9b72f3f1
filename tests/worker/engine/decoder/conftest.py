"""An engine with the decoder in its own process, and what it says, to compare others with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.engine.contracted_engines import request_for, result
from worker.engine.interface import Speech
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.settings import SMALL_VOICE

TEXT = "The harbour was quiet that evening, and the boats moved slowly against the pier in the dark."
FRAMES = 40
"""Five chunks: their text is longer."""


def engine_with(checkpoint: Path, *devices: str, slots: int = 4) -> NativeEngine:
    return NativeEngine(NativeEngineSettings(checkpoint, slots=slots, num_threads=1, decoder_devices=devices))


@pytest.fixture(scope="session")
def together() -> Iterator[NativeEngine]:
    engine = engine_with(SMALL_VOICE)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def expected(together: NativeEngine) -> Speech:
    return result(together.submit(request_for(together, text=TEXT, frames=FRAMES)))
