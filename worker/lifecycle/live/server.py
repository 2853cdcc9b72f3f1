"""The live server of a worker: what its streams speak with."""

from __future__ import annotations

from collections.abc import Callable

from storage.live.orders import NEXT_WORDS_S
from storage.objects.store import ArtifactStore
from worker.engine.interface import Engine
from worker.lifecycle.live.binding import live_binding
from worker.live.parts import LiveParts
from worker.live.server import LiveServer
from worker.live.text_source import load_everything
from worker.process.engine_meter import EngineMeter
from worker.settings import WorkerSettings
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.voices.resolving import VoiceResolver

LATER_THAN_API_S = 5.0
"""An API process that lives ends such a stream first, and says so to its caller."""


def live_server(
    settings: WorkerSettings,
    worker: str,
    engine: Engine,
    voices: VoiceResolver,
    artifacts: ArtifactStore,
    bounds: Callable[[str, str], SpeechBounds],
    meter: EngineMeter,
) -> LiveServer:
    """Not started yet; all that the first stream reads with is loaded. Raises `SettingsError`."""
    load_everything()
    parts = LiveParts(
        worker=worker,
        model=settings.model_name,
        engine=engine,
        voices=voices,
        artifacts=artifacts,
        bounds=bounds,
        text_patience_s=NEXT_WORDS_S + LATER_THAN_API_S,
    )
    return LiveServer(parts, live_binding(settings), lambda: _step_ms(meter))


def _step_ms(meter: EngineMeter) -> float | None:
    step_s = meter.pace().step_s
    return None if step_s is None else round(1000 * step_s, 3)
