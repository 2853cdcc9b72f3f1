"""Recordings for the tests: a voice-like tone in each kind of file."""

from __future__ import annotations

import io

import av
import numpy as np
import soundfile
from av.audio.stream import AudioStream
from numpy.typing import NDArray

KINDS = {
    "wav": ("WAV", "PCM_16"),
    "wav-float": ("WAV", "FLOAT"),
    "wav-24": ("WAVEX", "PCM_24"),
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "ogg-vorbis": ("OGG", "VORBIS"),
    "ogg-opus": ("OGG", "OPUS"),
}


ENCODED = {"m4a": ("ipod", "aac"), "mp4": ("mp4", "aac"), "webm": ("webm", "libopus"), "aac": ("adts", "aac")}
"""Of FFmpeg: formats and codecs."""


def encoded(pcm: NDArray[np.float32], kind: str) -> bytes:
    """`pcm` (N,) of 48 kHz as a file of one of `ENCODED`."""
    container, codec = ENCODED[kind]
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=48_000, layout="mono")
        assert isinstance(stream, AudioStream)
        for start in range(0, len(pcm), 960):
            frame = av.AudioFrame.from_ndarray(pcm[None, start : start + 960], format="flt", layout="mono")
            frame.sample_rate, frame.pts = 48_000, start
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return file.getvalue()


def tone(duration_s: float, rate: int = 16_000, level: float = 0.3) -> NDArray[np.float32]:
    """A vibrating tone (N,)."""
    t = np.arange(round(duration_s * rate)) / rate
    return (level * np.sin(2 * np.pi * 220 * t + 3 * np.sin(2 * np.pi * 5 * t))).astype(np.float32)


def file_of(pcm: NDArray[np.float32], rate: int = 16_000, kind: str = "wav") -> bytes:
    """`pcm` (N,) or (N, channels) as a file of one of `KINDS`."""
    container, subtype = KINDS[kind]
    file = io.BytesIO()
    soundfile.write(file, pcm, rate, format=container, subtype=subtype)
    return file.getvalue()
