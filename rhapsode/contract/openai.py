"""The request of OpenAI's speech API, for programs that were written for it."""

from __future__ import annotations

from typing import Literal

from rhapsode.contract.base import Name, RequestBody
from rhapsode.contract.jobs.input import Instructions
from rhapsode.contract.jobs.output import Speed

MAX_INPUT_CHARS = 4_096
"""As OpenAI's; a longer text is a job."""

SpeechFormat = Literal["mp3", "opus", "flac", "wav", "pcm"]


class NamedVoice(RequestBody):
    """A voice as OpenAI names custom ones: by its id, or by its name."""

    id: Name


class SpeechOrder(RequestBody):
    """What is said, and how it comes back. Two fields are not OpenAI's: `language`, one of the model's, by name or
    tag, and `reuse`, as of `/v1/jobs`.

    `response_format`: `pcm` is what a WAV holds: 16-bit little-endian samples of one channel at the model's rate.
    `voice`: may be left out, or be `design` or `auto`, with a model that makes its voice from `instructions`.
    `speed`: from 0.5 to 2; OpenAI's is from 0.25 to 4.
    `stream_format`: the audio comes whole, in one piece.
    """

    model: Name
    input: str
    voice: Name | NamedVoice | None = None
    instructions: Instructions | None = None
    response_format: SpeechFormat = "mp3"
    speed: Speed = 1.0
    stream_format: Literal["audio"] = "audio"
    language: Name = "auto"
    reuse: bool = True

    @property
    def voice_name(self) -> str | None:
        return self.voice.id if isinstance(self.voice, NamedVoice) else self.voice
