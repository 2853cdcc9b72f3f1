"""What a live stream is to say, with every name looked up and every default filled in. Pure.

A worker that has the order and the codes of what was heard goes on where another one stopped.
"""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rhapsode.contract.jobs.input import MAX_DICTIONARIES, MAX_SEED, Emoji, Normalization, Pauses
from rhapsode.contract.jobs.options import Reproducibility, Sampling
from storage.ids import TenantId
from storage.narration.languages import AUTO_LANGUAGE
from storage.narration.voice_reference import VoiceReference

MAX_LIVE_CHARS = 200_000
"""Of a stream's text, also of one that is still being written: four hours of speech."""

ObjectKey = Annotated[str, Field(min_length=1, max_length=1_024)]


class LiveTextMode(enum.StrEnum):
    """How text enters the model; as `worker.engine.interface.TextMode`."""

    PER_FRAME = "per_frame"
    """A row of text with each frame: speech begins after the first words, and text may still be written."""

    WHOLE = "whole"
    """All of a segment's text before its first frame."""


class LiveOrder(BaseModel):
    """One stream.

    voice: as the model spells it; the name of `own_voice`, where that is given; "" where it is designed from
    `instructions`. language: as the model spells it, or "auto". text: what is known of it. text_is_open: more comes,
    which only per-frame text can have. dictionaries: keys of their rules in the object store, the first that has a word
    counts. traceparent: of the request's trace (W3C); "" for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    tenant: TenantId = Field(min_length=1, max_length=200)
    model: str = Field(min_length=1, max_length=200)
    voice: str = Field(default="", max_length=200)
    own_voice: VoiceReference | None = None
    language: str = Field(default=AUTO_LANGUAGE, min_length=1, max_length=200)
    instructions: str = Field(default="", max_length=2_000)
    text: str = Field(default="", max_length=MAX_LIVE_CHARS)
    text_is_open: bool = False
    text_mode: LiveTextMode = LiveTextMode.PER_FRAME
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    sampling: Sampling = Sampling()
    pauses: Pauses = Pauses()
    normalization: Normalization = Normalization.OFF
    emoji: Emoji = Emoji.DROPPED
    dictionaries: tuple[ObjectKey, ...] = Field(default=(), max_length=MAX_DICTIONARIES)
    reproducibility: Reproducibility = Reproducibility.BEST_EFFORT
    traceparent: str = Field(default="", max_length=128)
