"""Who speaks a stream, as the engine wants it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from storage.live.orders import LiveOrder, LiveTextMode
from worker.engine.interface import Conditioning, EngineInfo, TextMode
from worker.live.errors import StreamRefused
from worker.synthesis.speech_requests import built_in_conditioning
from worker.voices.resolving import VoiceResolver

TEXT_MODES = {LiveTextMode.PER_FRAME: TextMode.PER_FRAME, LiveTextMode.WHOLE: TextMode.WHOLE}

PATIENCE_S = 2.0
"""How long a voice is looked for in stores that do not answer: a listener waits for the first word."""


class StreamOver(Exception):
    """The stream has no listener any more."""


@dataclass(frozen=True, slots=True)
class StreamPatience:
    """How long the stream waits for a store, in the place of a lease (`worker.items.leases.persistence.Patience`)."""

    over: threading.Event
    patience_s: float = PATIENCE_S

    def check(self) -> None:
        if self.over.is_set():
            raise StreamOver


def refuse_impossible(order: LiveOrder, model: str, info: EngineInfo) -> None:
    """Refuses what this engine cannot speak, before a thread starts. Raises `StreamRefused`."""
    if order.narration.model != model:
        raise StreamRefused("model_not_found", f"this worker speaks {model}")
    if order.text_is_open and order.text_mode is not LiveTextMode.PER_FRAME:
        raise StreamRefused("invalid_request", "text that is still being written needs the text mode `per_frame`")
    if order.text_is_open and not info.takes_open_text:
        raise StreamRefused("not_supported", f"the engine of {model} needs the whole text at once")
    if order.narration.language not in ("auto", *info.languages):
        raise StreamRefused("unsupported_language", f"{model} does not speak {order.narration.language!r}")
    is_blend = info.blends_speakers and "+" in order.narration.voice
    if order.own_voice is None and info.speakers and order.narration.voice not in info.speakers and not is_blend:
        raise StreamRefused("voice_not_found", f"{model} has no voice {order.narration.voice!r}")


def needs_store(order: LiveOrder) -> bool:
    """Whether something of it lies where only a thread may wait for it."""
    return order.own_voice is not None or bool(order.dictionaries)


def conditioning_of(
    order: LiveOrder, info: EngineInfo, voices: VoiceResolver, patience: StreamPatience
) -> Conditioning:
    """Raises `PermanentItemError`, `StoreUnavailable`, `EngineDied` or `StreamOver`."""
    if order.own_voice is None:
        return built_in_conditioning(order.narration.voice, order.narration.instructions, order.narration.model, info)
    return voices.borrow(order.own_voice, order.tenant, patience)
