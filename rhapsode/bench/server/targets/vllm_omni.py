"""vLLM-Omni with a model of the Qwen3-TTS family: bare samples at 24 kHz, sent while they are made."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import LANGUAGE_NAMES, Order
from rhapsode.bench.server.targets.audio_answers import check_is_bare
from rhapsode.bench.server.targets.http_speech import HttpSpeech
from rhapsode.bench.server.targets.target import FRAME_S, present

RATE_HZ = 24_000


class VllmOmni(HttpSpeech):
    frame_s = FRAME_S

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        speaking = self.speaking
        return {
            "input": order.text,
            "language": LANGUAGE_NAMES[order.language],
            "response_format": "pcm",
            "stream": True,
            "stream_format": "audio",
            "non_streaming_mode": False,
            **present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions),
        }

    def prepare(self, headers: Mapping[str, str], ear: Ear) -> None:
        check_is_bare(headers)
        ear.form(RATE_HZ)
