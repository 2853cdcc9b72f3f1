"""Speech as it arrives: samples with their rate, and what is known of the stream so far. No I/O."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from rhapsode.errors import BadAnswer

BYTES_PER_SAMPLE = 2

SAMPLE_RATE = "x-sample-rate"
MODEL = "x-model"
VOICE = "x-voice"
"""Who speaks; what is no ASCII is percent-encoded."""


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """pcm: 16-bit little-endian samples of one channel, whole ones."""

    pcm: bytes
    sample_rate_hz: int

    @property
    def duration_s(self) -> float:
        return len(self.pcm) / BYTES_PER_SAMPLE / self.sample_rate_hz


@dataclass(slots=True)
class SpeechFacts:
    """What is known of a stream so far.

    first_audio_s: from the beginning of the request, connecting included, to the first samples; None before them.
    model, voice: who speaks; empty where the server does not say. findings: problems found in the speech, such as a
    forced end. The list is complete after the last chunk. Only streams of unfinished text have it.
    """

    first_audio_s: float | None = None
    audio_s: float = 0.0
    model: str = ""
    voice: str = ""
    findings: tuple[str, ...] = ()
    _begun: float | None = None

    def begin(self) -> None:
        """The request is about to be sent; perhaps again, which does not make its wait shorter."""
        if self._begun is None:
            self._begun = time.perf_counter()

    def take(self, chunk: AudioChunk) -> AudioChunk:
        if self.first_audio_s is None and self._begun is not None:
            self.first_audio_s = time.perf_counter() - self._begun
        self.audio_s += chunk.duration_s
        return chunk


class Samples:
    """Pieces of bytes, which may end within a sample, as chunks that do not."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._sample_rate_hz = sample_rate_hz
        self._rest = b""

    def take(self, piece: bytes) -> AudioChunk | None:
        """None if no sample is whole yet."""
        held = self._rest + piece
        whole = len(held) - len(held) % BYTES_PER_SAMPLE
        self._rest = held[whole:]
        return AudioChunk(held[:whole], self._sample_rate_hz) if whole else None


def read_headers(headers: Mapping[str, str], facts: SpeechFacts) -> Samples:
    """Raises `BadAnswer` for one that does not say its sample rate."""
    facts.model, facts.voice = (unquote(headers.get(name, "")) for name in (MODEL, VOICE))
    return Samples(sample_rate(headers.get(SAMPLE_RATE)))


def sample_rate(said: object) -> int:
    """Raises `BadAnswer` for what is none."""
    text = str(said)
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) < 1_000_000:
        raise BadAnswer(f"the server streams speech without its sample rate (it says {said!r}); is it of this version?")
    return int(text)
