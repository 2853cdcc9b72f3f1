"""How long a segment of live speech may be for a checkpoint. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from reading.plan.plan import CLOSING_MARK_BYTES
from storage.live.orders import LiveOrder
from worker.engine.interface import EngineInfo

TARGET_CHARS, MAX_CHARS = 220, 400
"""As jobs have it by default."""

_ROWS_PER_TOKEN = 4
"""What an instruction or a reference takes: see `EngineInfo.max_text_tokens`."""

_LEAST_BYTES = 64


@dataclass(frozen=True, slots=True)
class TextRoom:
    """In speech units; bytes in UTF-8, of which each is one token at most."""

    target_chars: int
    max_chars: int
    max_bytes: int

    @classmethod
    def of(cls, order: LiveOrder, info: EngineInfo) -> Self:
        rows = float(len(order.narration.instructions.encode()))
        if order.own_voice is not None and order.own_voice.ref_text:
            reference_s = order.own_voice.source.duration_s or 0.0
            rows += len(order.own_voice.ref_text.encode()) + reference_s * info.sample_rate_hz / info.samples_per_frame
        return cls(
            min(TARGET_CHARS, info.max_text_chars),
            min(MAX_CHARS, info.max_text_chars),
            max(_LEAST_BYTES, info.max_text_tokens - math.ceil(rows / _ROWS_PER_TOKEN) - CLOSING_MARK_BYTES),
        )
