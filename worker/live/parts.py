"""What streams speak with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storage.live.orders import NEXT_WORDS_S, LiveOrder, LiveTextMode
from storage.objects.store import ArtifactStore
from worker.engine.interface import Engine
from worker.planning.drafting.process import SHORT_BYTES
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.voices.resolving import VoiceResolver

TEXT_PATIENCE_S = NEXT_WORDS_S + 5.0
"""An API process that lives ends such a stream first, and says so to its caller."""


@dataclass(frozen=True, slots=True)
class LiveParts:
    """worker, model: their names. bounds: what is usual for a voice in a language. text_patience_s: for which the next
    words of a text that is still being written are waited for."""

    worker: str
    model: str
    engine: Engine
    voices: VoiceResolver
    artifacts: ArtifactStore
    bounds: Callable[[str, str], SpeechBounds]
    text_patience_s: float = TEXT_PATIENCE_S

    @staticmethod
    def is_long(order: LiveOrder) -> bool:
        """Whether a separate process divides its text. No other text waits for that process."""
        return order.text_mode is LiveTextMode.WHOLE and len(order.text.encode()) > SHORT_BYTES
