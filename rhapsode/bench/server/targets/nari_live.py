"""The server of nari-labs, over its WebSocket: a text that is still being written."""

from __future__ import annotations

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import LANGUAGE_NAMES, Order, Speaking, Task
from rhapsode.bench.server.targets.target import FRAME_S, authorization, present
from rhapsode.bench.server.wire.http import read_origin
from rhapsode.bench.server.wire.nari_socket import speak_over_socket


class NariLive:
    tasks = frozenset({Task.CUSTOM_VOICE})
    frame_s: float | None = FRAME_S

    def __init__(self, speaking: Speaking) -> None:
        read_origin(speaking.url)
        self._speaking = speaking

    async def speak(self, order: Order, ear: Ear) -> None:
        speaking = self._speaking
        start = {
            "language": LANGUAGE_NAMES[order.language],
            **present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions),
            **speaking.parameters,
        }
        await speak_over_socket(speaking.url, authorization(speaking), start, order.text, ear)
        ear.end()
