"""What a narration asks for: how its text is divided, how it is spoken, what is made of it. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from storage.narration.cast import SpeakerVoice
from storage.narration.outputs import OutputSpec
from storage.narration.quality import Quality
from storage.narration.sources import Source
from storage.narration.voice_reference import VoiceReference


@dataclass(frozen=True, slots=True)
class Segmentation:
    """How text becomes segments, in characters (code points).

    max_bytes: of a segment's text in UTF-8; None for no such bound. A byte-level tokenizer makes at most one token of
    a byte, so this holds every segment within what the model takes, in scripts it hardly knows too.

    min_chars: what is shorter is spoken with a neighbour, also over the end of a paragraph; 0 for nothing.

    opening_chars: what the first segment aims at in place of `target_chars`; 0 for the same as the others.

    asked_chars: what the caller wanted in place of `max_chars`, where the model takes less; 0 where it got its wish.
    """

    target_chars: int = 220
    max_chars: int = 400
    max_bytes: int | None = None
    min_chars: int = 0
    opening_chars: int = 0
    asked_chars: int = 0


@dataclass(frozen=True, slots=True)
class Pauses:
    """Silence after a segment, in seconds, by what ends there; the longest counts. chapter_s: before a chapter."""

    sentence_s: float = 0.25
    paragraph_s: float = 0.6
    heading_s: float = 0.9
    chapter_s: float = 1.5


class Normalization(enum.StrEnum):
    """What is done to numbers and signs before the model reads them; the plan shows the outcome."""

    OFF = "off"
    """Nothing: the model reads them itself."""

    BASIC = "basic"
    """Numbers, dates, money and units become words, in the languages that have rules."""


class Reproducibility(enum.StrEnum):
    """Whether a segment's codes may depend, in rounding, on what else its worker speaks at the time.

    Twin of `worker.engine.profiles.Reproducibility`.
    """

    BEST_EFFORT = "best_effort"
    STRICT = "strict"
    """They may not: only workers that can see to it speak the job, and it takes nothing that others spoke."""


@dataclass(frozen=True, slots=True)
class SamplingOverrides:
    """Fields the caller set; None keeps the checkpoint's own value."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class NarrationSpec:
    """What a narration job asks for, apart from its text.

    voice: a built-in speaker of the model; "" when the model designs the voice from `instructions`; the name of the
        caller's own voice when `own_voice` is set.
    language: a language of the model, or "auto".
    seed_fixed: whether the caller chose the seed, and means to hear what comes of it.
    speakers: the cast, for segments that name another speaker. source: what the stored input is.
    dictionaries: pronunciation dictionaries as `<id>@<version>`, the first that has a word counts.
    validate_only: the job ends with its plan; nothing is spoken.
    languages: all that the model speaks, as it names them; empty where that is not known.
    reuse: whether segments that earlier jobs of the tenant spoke are copied; else every one is spoken.
    """

    model: str
    voice: str
    language: str = "auto"
    instructions: str = ""
    seed: int = 0
    seed_fixed: bool = False
    segmentation: Segmentation = field(default_factory=Segmentation)
    pauses: Pauses = field(default_factory=Pauses)
    sampling: SamplingOverrides = field(default_factory=SamplingOverrides)
    own_voice: VoiceReference | None = None
    speakers: tuple[SpeakerVoice, ...] = ()
    source: Source = field(default_factory=Source)
    normalization: Normalization = Normalization.OFF
    dictionaries: tuple[str, ...] = ()
    validate_only: bool = False
    quality: Quality = field(default_factory=Quality)
    output: OutputSpec = field(default_factory=OutputSpec)
    languages: tuple[str, ...] = ()
    reproducibility: Reproducibility = Reproducibility.BEST_EFFORT
    reuse: bool = True
