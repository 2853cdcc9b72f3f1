"""The one place that chooses an engine. Each import is inside its branch: the fake never loads torch."""

from __future__ import annotations

from worker.engine.interface import Engine
from worker.engine.settings import (
    EngineSettings,
    FakeEngineSettings,
    KokoroEngineSettings,
    NativeEngineSettings,
    VllmEngineSettings,
)


def build_engine(settings: EngineSettings) -> Engine:
    """A running engine. Raises CheckpointError when the checkpoint cannot be used.

    Raises EngineNotInstalled when its libraries are missing, or of versions that it was not tested with.
    """
    match settings:
        case NativeEngineSettings():
            from worker.engine.native import NativeEngine

            return NativeEngine(settings)
        case VllmEngineSettings():
            from worker.engine.vllm.engine import VllmEngine

            return VllmEngine(settings)
        case KokoroEngineSettings():
            from worker.engine.kokoro.engine import KokoroEngine

            return KokoroEngine(settings)
        case FakeEngineSettings():
            from worker.engine.fake import FakeEngine

            return FakeEngine(settings)
