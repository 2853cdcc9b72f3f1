"""A narration as its job keeps it: what was asked for, with every default filled in and every name looked up."""

from __future__ import annotations

from rhapsode.contract.base import Answer, Choice, Id, Listed, RequestBody
from rhapsode.contract.jobs.input import NarrationInput, Normalization, SegmentationMode
from rhapsode.contract.jobs.options import SpeechOptions
from rhapsode.contract.jobs.schedule import Schedule
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing


class SegmentLengths(RequestBody):
    """In characters (code points), as the model allows them."""

    mode: Choice[SegmentationMode] = SegmentationMode.PACKED
    target_chars: int = 220
    max_chars: int = 400
    min_chars: int = 0


class Narration(SpeechOptions):
    """The document that the store, the journal, a batch's line and the manifest have of a job.

    voice: as the model spells it; "" where it is designed from `instructions`; the name of a voice of the caller's.
    language: as the model spells it, or "auto". pronunciation_dictionaries: as `<id>@<version>`, the first that has a
    word counts.
    """

    model: str
    voice: str
    language: str = "auto"
    instructions: str = ""
    seed: int = 0
    input: NarrationInput = NarrationInput()
    segmentation: SegmentLengths = SegmentLengths()
    normalization: Choice[Normalization] = Normalization.OFF
    pronunciation_dictionaries: Listed[str] = ()


class ShownVoice(Answer):
    """An uploaded voice as it was when the job was accepted. `id`: null for an embedding that came with the request."""

    id: Id | None
    revision: int
    mode: CacheMode
    ref_text: str
    if_cache_missing: IfCacheMissing


class ShownNarration(Schedule, Narration):
    """What was asked for with every default filled in. `own_voice`: null when the voice is one of the model's."""

    own_voice: ShownVoice | None
    speakers: dict[str, str]
