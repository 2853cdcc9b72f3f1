"""What the audio of a call of OpenAI's shape is sent as."""

from __future__ import annotations

from rhapsode.contract.openai import SpeechFormat

MEDIA_TYPES: dict[SpeechFormat, str] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
