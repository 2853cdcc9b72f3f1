"""Chunks of speech as a browser wants them: fewer, and each a small file."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator

from rhapsode.client.live.chunks import BYTES_PER_SAMPLE, AudioChunk

PIECE_S = 0.4
"""How long those behind the first are at least."""


def wav_pieces(chunks: Iterator[AudioChunk]) -> Iterator[bytes]:
    """The first at once, those behind it joined up to `PIECE_S`."""
    held = b""
    rate_hz, least_bytes = 0, 0
    for chunk in chunks:
        held, rate_hz = held + chunk.pcm, chunk.sample_rate_hz
        if len(held) > least_bytes:
            yield _wav(held, rate_hz)
            held, least_bytes = b"", int(PIECE_S * rate_hz) * BYTES_PER_SAMPLE
    if held:
        yield _wav(held, rate_hz)


def _wav(pcm: bytes, rate_hz: int) -> bytes:
    with io.BytesIO() as file:
        with wave.open(file, "wb") as writer:
            writer.setnchannels(1)
            writer.setsampwidth(BYTES_PER_SAMPLE)
            writer.setframerate(rate_hz)
            writer.writeframes(pcm)
        return file.getvalue()
