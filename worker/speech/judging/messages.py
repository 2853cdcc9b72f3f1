"""What a judge of recordings is given and what it says, a line of JSON each. Plain values: no numpy is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Recording:
    """A WAV of one channel, and what it is to say. language: as models name it; "" where its words are not counted."""

    path: str
    text: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRecording:
    """words: of the text; errors: of them lost or said otherwise, and added ones; characters, character_errors: the
    same of its letters. In a language that writes no spaces a word is a character. None where they were not counted.

    heard: the recogniser's transcript. is_looped: four words in a row or more were added. is_cut: as many are missing
    at the end, or half of a short text. mos: distillMOS, 1 to 5. loudness_db: of the loud windows, against full scale.
    clipped_share: of samples at full scale. leading_s, trailing_s: silence around the speech. longest_pause_s: within
    it. words_per_s: of the text, from the first sound to the last.
    """

    path: str
    heard: str | None
    words: int | None = None
    errors: int | None = None
    speech_s: float
    loudness_db: float
    clipped_share: float
    leading_s: float
    trailing_s: float
    longest_pause_s: float
    words_per_s: float | None
    characters: int | None = None
    character_errors: int | None = None
    is_looped: bool | None = None
    is_cut: bool | None = None
    mos: float | None = None
    kind: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike the voice of a recording is to that of the reference, else to those of the others: a cosine."""

    path: str
    cosine: float
    kind: Literal["likeness"] = "likeness"


@dataclass(frozen=True, slots=True)
class NotJudged:
    """what: it is not said of any recording. why: in words."""

    what: str
    why: str
    kind: Literal["not_judged"] = "not_judged"


Message = JudgedRecording | Likeness | NotJudged
