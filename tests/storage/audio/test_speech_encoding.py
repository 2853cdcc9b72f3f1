"""Speech that is sent while it is made: every format, piece by piece, is the whole of what went in."""

from __future__ import annotations

import io
import math
import struct

import av
import pytest

from rhapsode.contract.openai import SpeechFormat
from storage.audio.speech_encoding import speech_encoder
from storage.audio.tempo import StretchedStream, stretched
from storage.audio.wav import HEADER_BYTES

RATE_HZ = 24_000
CHUNK_BYTES = 1920 * 2


def speech(num_samples: int) -> bytes:
    """A tone that swells."""
    values = (round(9_000 * math.sin(at * 0.06) * (0.5 + 0.5 * math.sin(at / 3_000))) for at in range(num_samples))
    return b"".join(struct.pack("<h", value) for value in values)


PCM = speech(2 * RATE_HZ + 77)


def sent(form: SpeechFormat, speed: float = 1.0) -> list[bytes]:
    """What each chunk of 80 ms brought, and the end."""
    encoder = speech_encoder(form, RATE_HZ, speed)
    pieces = [encoder.add(PCM[at : at + CHUNK_BYTES]) for at in range(0, len(PCM), CHUNK_BYTES)]
    return [*pieces, encoder.finish()]


def num_decoded(data: bytes) -> float:
    """Samples, as if they were of `RATE_HZ`."""
    with av.open(io.BytesIO(data), mode="r") as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0)) * RATE_HZ


def test_samples_are_sent_as_they_are() -> None:
    assert b"".join(sent("pcm")) == PCM
    wav = b"".join(sent("wav"))
    assert (wav[:4], wav[HEADER_BYTES:]) == (b"RIFF", PCM)


@pytest.mark.parametrize("form", ["mp3", "opus", "flac", "aac"])
def test_a_coded_stream_begins_at_once_and_holds_everything(form: SpeechFormat) -> None:
    pieces = sent(form)

    # An encoder holds a frame or two back, never more.
    assert any(pieces[:3])
    assert all(pieces[3:-2])
    assert 0 <= num_decoded(b"".join(pieces)) - len(PCM) / 2 < 4_096


@pytest.mark.parametrize("speed", [0.5, 0.9, 1.3, 2.0])
def test_a_stretched_stream_is_what_the_whole_is_stretched_to(speed: float) -> None:
    stream = StretchedStream(RATE_HZ, speed)
    pieces = [stream.add(PCM[at : at + CHUNK_BYTES]) for at in range(0, len(PCM), CHUNK_BYTES)]

    assert any(pieces[:4])
    assert b"".join([*pieces, stream.finish()]) == stretched(PCM, RATE_HZ, speed)
    assert b"".join(sent("pcm", speed)) == stretched(PCM, RATE_HZ, speed)


def test_a_stream_of_nothing_is_nothing() -> None:
    assert StretchedStream(RATE_HZ, 1.5).finish() == b""
    assert speech_encoder("pcm", RATE_HZ, 1.5).finish() == b""
