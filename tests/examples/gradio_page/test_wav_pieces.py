"""Chunks for a browser: the first at once, those behind it joined, each a file of its own."""

from __future__ import annotations

import io
import wave

from examples.gradio_page.wav_pieces import PIECE_S, wav_pieces
from rhapsode.client.live.chunks import AudioChunk

RATE_HZ = 24_000


def samples(file: bytes) -> bytes:
    with wave.open(io.BytesIO(file)) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.getsampwidth()) == (RATE_HZ, 1, 2)
        return wav.readframes(wav.getnframes())


def test_the_first_comes_at_once_and_nothing_is_lost() -> None:
    chunks = [AudioChunk(bytes([number]) * 3840, RATE_HZ) for number in range(23)]

    first, *rest = [samples(file) for file in wav_pieces(iter(chunks))]

    assert first == chunks[0].pcm
    assert first + b"".join(rest) == b"".join(chunk.pcm for chunk in chunks)
    assert all(len(piece) / 2 / RATE_HZ >= PIECE_S for piece in rest[:-1])


def test_of_nothing_there_is_none() -> None:
    assert list(wav_pieces(iter(()))) == []
