"""What a narration job asks for, and what its request came to when it was accepted. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reading.segmenting.lengths import LengthRules, SegmentBounds
from rhapsode.contract.jobs.narration import Narration
from storage.narration.cast import SpeakerVoice, find_speaker
from storage.narration.voice_reference import VoiceReference


@dataclass(frozen=True, slots=True)
class NarrationSpec:
    """A narration job, apart from its text.

    request: what was asked for, as the API shows it. own_voice: the caller's, in place of one of the model's.
    cast: voices of segments that name another speaker. seed_fixed: whether the caller chose the seed, and means to hear
    what comes of it. languages: all that the model speaks, as it names them; empty where that is not known.
    """

    request: Narration
    own_voice: VoiceReference | None = None
    cast: tuple[SpeakerVoice, ...] = ()
    seed_fixed: bool = False
    bounds: SegmentBounds = field(default_factory=SegmentBounds)
    languages: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        return self.request.model

    def voice_of(self, speaker: str) -> str:
        """The name of the voice that a speaker has; "" is the job's own voice, as is who is not of the cast."""
        member = find_speaker(self.cast, speaker) if speaker else None
        return self.request.voice if member is None else member.voice

    @property
    def segmentation(self) -> LengthRules:
        lengths, bounds = self.request.segmentation, self.bounds
        return LengthRules(
            lengths.target_chars,
            lengths.max_chars,
            bounds.max_bytes,
            lengths.min_chars,
            bounds.opening_chars,
            lengths.mode,
        )

    def asking(self, **changed: object) -> NarrationSpec:
        """The same with other fields of its request, which are not checked again."""
        return replace(self, request=self.request.model_copy(update=changed))
