"""What servers of the Qwen3-TTS family take alike over HTTP: the whole text, spoken while it is read."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import LANGUAGE_NAMES, Order
from rhapsode.bench.server.targets.http_speech import HttpSpeech
from rhapsode.bench.server.targets.target import FRAME_S, present


class FamilySpeech(HttpSpeech):
    frame_s = FRAME_S

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        speaking = self.speaking
        return {
            "input": order.text,
            "language": LANGUAGE_NAMES[order.language],
            "response_format": "pcm",
            "stream": True,
            "non_streaming_mode": False,
            **present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions),
        }
