"""Speech for which one waits: the request as a value. No I/O: both clients send it."""

from __future__ import annotations

import uuid
from typing import Literal

from pydantic import JsonValue

from rhapsode.client.calls import IDEMPOTENCY_KEY, ApiCall

SpeechFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

PATIENCE_S = 130.0
"""The server gives up after 120 s."""


def speak(
    text: str, model: str, voice: str, form: SpeechFormat, language: str | None, instructions: str | None
) -> ApiCall[bytes]:
    """Under a key, so that a repeat after a broken connection hears what was made meanwhile."""
    body: dict[str, JsonValue] = {"input": text, "model": model, "voice": voice, "response_format": form}
    body |= {"language": language} if language else {}
    body |= {"instructions": instructions} if instructions else {}
    headers = {IDEMPOTENCY_KEY: str(uuid.uuid4()), "Accept": "audio/*, application/json"}
    path = "/v1/audio/speech"
    return ApiCall("POST", path, lambda response: response.content, headers=headers, body=body, hold_s=PATIENCE_S)
