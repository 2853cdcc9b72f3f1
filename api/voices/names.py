"""The built-in speaker that a name stands for."""

from __future__ import annotations

from collections.abc import Sequence

from rhapsode.contract.voices.names import name_key
from storage.queue.model_registry import ModelCard


def built_in_speaker(name: str, cards: Sequence[ModelCard]) -> str | None:
    """The built-in speaker that has this name, as its model spells it."""
    wanted = name_key(name)
    speakers = (speaker for card in cards for speaker in card.speakers)
    return next((speaker for speaker in speakers if name_key(speaker) == wanted), None)
