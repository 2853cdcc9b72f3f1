"""A model's own voices by name, and blends of them: `af_bella(2)+af_sky(1)`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from storage.queue.model_registry import ModelCard

MOST_BLENDED = 8

_MEMBER = re.compile(r"(\w+)(\(\d{1,3}(?:\.\d{1,3})?\))?")
"""Twin of `worker.engine.kokoro.voices`, a library, which reads the weights."""


def speaker_of(name: str, card: ModelCard) -> str | None:
    """The voice as the model spells it; None if it has none of this name, and cannot blend it."""
    found = listed(name, card.speakers)
    if found is not None or not card.blends_speakers or "+" not in name:
        return found
    members = [_MEMBER.fullmatch(each.strip()) for each in name.split("+")]
    spelt = [(listed(each[1], card.speakers), each[2] or "") for each in members if each]
    is_known = len(spelt) == len(members) <= MOST_BLENDED and all(speaker for speaker, _ in spelt)
    return "+".join(f"{speaker}{weight}" for speaker, weight in spelt) if is_known else None


def listed(name: str, known: Sequence[str]) -> str | None:
    """The name as the model spells it; case makes no difference."""
    wanted = name.casefold()
    return next((candidate for candidate in known if candidate.casefold() == wanted), None)
