"""Kokoro-FastAPI: OpenAI's shape, streamed where it is asked for, 24 kHz. The voice decides the language."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.audio_answers import check_is_bare
from rhapsode.bench.server.targets.http_speech import HttpSpeech

RATE_HZ = 24_000


class Kokoro(HttpSpeech):
    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        return {
            "model": self.speaking.model or "kokoro",
            "voice": self.speaking.voice or "af_heart",
            "input": order.text,
            "response_format": "pcm",
            "stream": True,
        }

    def prepare(self, headers: Mapping[str, str], ear: Ear) -> None:
        check_is_bare(headers)
        ear.form(RATE_HZ)
