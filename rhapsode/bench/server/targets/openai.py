"""Any server of OpenAI's shape: what OpenAI's own documentation asks for, and bare samples at 24 kHz for an answer."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.http_speech import HttpSpeech
from rhapsode.bench.server.targets.target import present


class OpenAi(HttpSpeech):
    """`model` and `voice` are required there, so that they have OpenAI's first names where none is given.

    rate_hz: of `pcm`, by OpenAI's documentation, whatever the model.
    """

    rate_hz = 24_000

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        return {
            "model": self.speaking.model or "tts-1",
            "voice": self.speaking.voice or "alloy",
            "input": order.text,
            "response_format": "pcm",
            **present(instructions=self.speaking.instructions),
        }
