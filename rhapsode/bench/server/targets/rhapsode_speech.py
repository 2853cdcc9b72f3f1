"""Rhapsode's `POST /v1/audio/speech` as a stream: the whole text in, samples while they are made."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.http_speech import HttpSpeech
from rhapsode.bench.server.targets.target import FRAME_S, present
from rhapsode.bench.server.targets.voice_tasks import EVERY_TASK, family_fields


class RhapsodeSpeech(HttpSpeech):
    """The language is left to the model, which says itself what it has."""

    tasks = EVERY_TASK
    frame_s = FRAME_S

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        speaking = self.speaking
        return {
            "input": order.text,
            "response_format": "pcm",
            "stream": True,
            **present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions),
            **family_fields(speaking),
        }
