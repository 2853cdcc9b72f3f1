"""Any server of OpenAI's shape: what OpenAI's own documentation asks for, and bare samples at 24 kHz for an answer."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.audio_answers import check_is_bare
from rhapsode.bench.server.targets.http_speech import HttpSpeech
from rhapsode.bench.server.targets.target import present

RATE_HZ = 24_000
"""Of `pcm`, by OpenAI's documentation, whatever the model."""


class OpenAi(HttpSpeech):
    """`model` and `voice` are required there, so that they have OpenAI's first names where none is given."""

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        return {
            "model": self.speaking.model or "tts-1",
            "voice": self.speaking.voice or "alloy",
            "input": order.text,
            "response_format": "pcm",
            **present(instructions=self.speaking.instructions),
        }

    def prepare(self, headers: Mapping[str, str], ear: Ear) -> None:
        check_is_bare(headers)
        ear.form(RATE_HZ)
