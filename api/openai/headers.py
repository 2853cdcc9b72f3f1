"""Headers of every answer that holds speech."""

from __future__ import annotations

from urllib.parse import quote

from rhapsode.contract.openai import SpeechFormat
from storage.narration.voice_reference import VoiceReference

MEDIA_TYPES: dict[SpeechFormat, str] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}

DESIGNED = "design"
"""The name of a voice that a model makes."""


def spoken_headers(model: str, voice: str, own: VoiceReference | None = None) -> dict[str, str]:
    """Which of this server's names spoke, and what was done to the recording of a caller's own voice.

    What is not ASCII is percent-encoded.
    """
    repaired = {"X-Recording-Repaired": "; ".join(own.source.repairs)} if own and own.source.repairs else {}
    return repaired | {"X-Model": quote(model, safe=" /:.,()"), "X-Voice": quote(voice or DESIGNED, safe=" /:.,()")}
