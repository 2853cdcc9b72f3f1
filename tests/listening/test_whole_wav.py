"""A WAV that is not streamed says how long it is, as players that read its head alone need it."""

from __future__ import annotations

import httpx
import pytest

from rhapsode.stack.stack import Stack
from storage.audio.wav import HEADER_BYTES


@pytest.mark.parametrize("text", ["The wind and the sun were disputing which was the stronger.", "..."])
def test_a_whole_wav_has_its_true_sizes(stack: Stack, text: str) -> None:
    order = {"model": "tts-1", "voice": "alloy", "input": text, "response_format": "wav"}
    audio = httpx.post(f"{stack.url}/v1/audio/speech", json=order, timeout=300).content

    assert (audio[:4], int.from_bytes(audio[4:8], "little")) == (b"RIFF", len(audio) - 8)
    assert (audio[36:40], int.from_bytes(audio[40:44], "little")) == (b"data", len(audio) - HEADER_BYTES)
    assert len(audio) > HEADER_BYTES
