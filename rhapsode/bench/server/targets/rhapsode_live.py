"""Rhapsode's `WS /v1/audio/speech/ws`: text word by word, as a model writes it."""

from __future__ import annotations

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order, Speaking
from rhapsode.bench.server.targets.target import FRAME_S, authorization, present
from rhapsode.bench.server.targets.voice_tasks import EVERY_TASK, family_fields
from rhapsode.bench.server.wire.http import read_origin
from rhapsode.bench.server.wire.nari_socket import speak_over_socket


class RhapsodeLive:
    tasks = EVERY_TASK
    frame_s: float | None = FRAME_S

    def __init__(self, speaking: Speaking) -> None:
        read_origin(speaking.url)
        self._speaking = speaking

    async def speak(self, order: Order, ear: Ear) -> None:
        speaking = self._speaking
        start = {
            **present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions),
            **family_fields(speaking),
            **speaking.parameters,
        }
        await speak_over_socket(speaking.url, authorization(speaking), start, order.text, ear)
        ear.end()
