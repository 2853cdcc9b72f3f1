"""Kokoro-FastAPI: OpenAI's shape, streamed where it is asked for, 24 kHz. The voice decides the language."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.http_speech import HttpSpeech


class Kokoro(HttpSpeech):
    rate_hz = 24_000

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        return {
            "model": self.speaking.model or "kokoro",
            "voice": self.speaking.voice or "af_heart",
            "input": order.text,
            "response_format": "pcm",
            "stream": True,
        }
