"""Which names a voice may have. A name is data: it is shown and compared, and never part of a key or a path."""

from __future__ import annotations

import unicodedata

from pydantic_core import PydanticCustomError

from rhapsode.contract.speakable_text import check_label

VOICE_PREFIX = "voc_"


def check_voice_name(name: str) -> str:
    """The name in NFC. Raises `PydanticCustomError` for control and bidi characters and for what looks like an id."""
    check_label(name)
    normal = unicodedata.normalize("NFC", name)
    if normal != normal.strip():
        raise PydanticCustomError("padded_name", "a name must not begin or end with a space")
    if name_key(normal).startswith(VOICE_PREFIX):
        raise PydanticCustomError("reserved_name", "names that begin with voc_ are reserved for ids")
    return normal


def name_key(name: str) -> str:
    """What two names of one tenant must not share: case and spelling of the same characters make no difference."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
