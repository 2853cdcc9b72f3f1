"""vLLM-Omni with a model of the Qwen3-TTS family: bare samples at 24 kHz, sent while they are made."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import Order
from rhapsode.bench.server.targets.family_speech import FamilySpeech
from rhapsode.bench.server.targets.voice_tasks import EVERY_TASK, family_fields


class VllmOmni(FamilySpeech):
    tasks = EVERY_TASK
    rate_hz = 24_000

    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        return {**super().fields(order), "stream_format": "audio", **family_fields(self.speaking)}
