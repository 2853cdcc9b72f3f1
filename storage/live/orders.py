"""What a live stream is to say, with every name looked up and every default filled in. Pure.

With the order and the codes of the played audio, a worker resumes where another one stopped.
"""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rhapsode.contract.jobs.input import MAX_DICTIONARIES
from rhapsode.contract.jobs.narration import Narration
from storage.ids import TenantId
from storage.narration.voice_reference import VoiceReference

NEXT_WORDS_S = 30.0
"""How long the next words of a text that is still being written are waited for."""

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

    narration: what is said of a job too, but for its `input` and `segmentation`, which are no matter of a stream's.
    own_voice: of the name that the narration gives as its voice. text: what is known of it. text_is_open: more comes,
    which only per-frame text can have. dictionaries: keys of their rules in the object store, the first that has a word
    counts. traceparent: of the request's trace (W3C); "" for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    tenant: TenantId = Field(min_length=1, max_length=200)
    narration: Narration
    own_voice: VoiceReference | None = None
    text: str = Field(default="", max_length=MAX_LIVE_CHARS)
    text_is_open: bool = False
    text_mode: LiveTextMode = LiveTextMode.PER_FRAME
    dictionaries: tuple[ObjectKey, ...] = Field(default=(), max_length=MAX_DICTIONARIES)
    traceparent: str = Field(default="", max_length=128)
