"""Which names a voice may have. A name is data: it is shown and compared, and never part of a key or a path."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from api.schemas.speakable_text import check_label
from storage.ids import VOICE_PREFIX
from storage.queue.model_registry import ModelCard
from storage.voices.records import name_key


def check_voice_name(name: str) -> str:
    """The name in NFC. Raises `PydanticCustomError` for control and bidi characters and for what looks like an id."""
    check_label(name)
    normal = unicodedata.normalize("NFC", name)
    if normal != normal.strip():
        raise PydanticCustomError("padded_name", "a name must not begin or end with a space")
    if name_key(normal).startswith(VOICE_PREFIX):
        raise PydanticCustomError("reserved_name", "names that begin with voc_ are reserved for ids")
    return normal


def built_in_speaker(name: str, cards: Sequence[ModelCard]) -> str | None:
    """The built-in speaker that has this name, as its model spells it."""
    wanted = name_key(name)
    speakers = (speaker for card in cards for speaker in card.speakers)
    return next((speaker for speaker in speakers if name_key(speaker) == wanted), None)
