"""What a judge of recordings is given and what it says, a line of JSON each. Plain values: no numpy is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Recording:
    """A WAV of one channel, and what it is to say. is_english: else its words are not counted."""

    path: str
    text: str
    is_english: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """words: of the text; errors: of them lost or said otherwise, and added ones. None where they were not counted.

    heard: what the recogniser read. loudness_db: of the loud windows, against full scale. clipped_share: of samples at
    full scale. leading_s, trailing_s: silence around the speech. longest_pause_s: within it. words_per_s: of the text,
    from the first sound to the last; None where they were not counted.
    """

    path: str
    heard: str | None
    words: int | None
    errors: int | None
    speech_s: float
    loudness_db: float
    clipped_share: float
    leading_s: float
    trailing_s: float
    longest_pause_s: float
    words_per_s: float | None
    kind: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True)
class NoRecogniser:
    """Why words are not counted; the rest is judged."""

    why: str
    kind: Literal["no_recogniser"] = "no_recogniser"


Message = Judged | NoRecogniser
