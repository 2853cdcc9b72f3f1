"""Texts to narrate and recordings to upload, none of them twice: what was made before would be reused."""

from __future__ import annotations

import itertools

from tests.api.voices.voices import recording

_NUMBERS = itertools.count(1)
_PITCHES_HZ = itertools.count(180, 7)

SENTENCES = (
    "The lamp in the harbour office burns until the last boat is in.",
    "Nobody remembers who painted the gate green, but everyone would miss it.",
    "Rain came down the hill in long grey curtains and the sheep did not mind at all.",
    "She counted the stairs each evening, as if one of them might have left.",
)


def story(paragraphs: int) -> str:
    """So many paragraphs under a title, each of which becomes a passage or two."""
    number = next(_NUMBERS)
    body = [f"{SENTENCES[place % 4]} {SENTENCES[(place + number) % 4]}" for place in range(paragraphs)]
    return "\n\n".join([f"Story number {number}", *body])


def hummed() -> bytes:
    """A WAV file of a second and a half."""
    return recording(pitch_hz=float(next(_PITCHES_HZ)))
