"""Who speaks in a narration besides the job's own voice. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage.narration.voice_reference import VoiceReference


@dataclass(frozen=True, slots=True)
class SpeakerVoice:
    """One of the cast.

    name: as the plan's segments name the speaker. voice: a built-in speaker of the model, or the name of the caller's
    own voice when `own_voice` is set.
    """

    name: str
    voice: str
    own_voice: VoiceReference | None = None


def find_speaker(cast: tuple[SpeakerVoice, ...], name: str) -> SpeakerVoice | None:
    """The member of this name, exactly as it is spelt; None if no member has it."""
    return next((member for member in cast if member.name == name), None)
