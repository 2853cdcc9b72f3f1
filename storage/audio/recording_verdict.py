"""What the process that decodes recordings answers. Pure, and light: that process is started for every recording."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

MIN_DURATION_S = 1.0
MAX_DURATION_S = 60.0
MAX_CHANNELS = 8
RATES_HZ = range(8_000, 192_001)


class Container(enum.StrEnum):
    WAV = "wav"
    FLAC = "flac"
    MP3 = "mp3"
    OGG = "ogg"
    MP4 = "mp4"
    """With or without a picture: .m4a, .mp4, .mov."""

    WEBM = "webm"
    AAC = "aac"

    @property
    def media_type(self) -> str:
        return "audio/mpeg" if self is Container.MP3 else f"audio/{self.value}"


UNKNOWN = (
    "the recording is not a WAV, FLAC, MP3, Ogg, M4A, MP4, WebM or AAC file; make one of it, as "
    "`ffmpeg -i FILE voice.wav` does"
)


class RefusalCode(enum.StrEnum):
    """Why a recording is not taken."""

    UNSUPPORTED_MEDIA = "unsupported_media"
    UNREADABLE = "unreadable"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    TOO_MANY_CHANNELS = "too_many_channels"
    BAD_RATE = "bad_rate"
    NOT_FINITE = "not_finite"
    SILENT = "silent"
    CLIPPED = "clipped"


class RecordingRefused(Exception):
    """The recording cannot become a voice; `detail` is a sentence for its sender."""

    def __init__(self, code: RefusalCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What was decoded, not what the file claims. `num_samples` are of one channel."""

    container: Container
    sample_rate_hz: int
    num_channels: int
    num_samples: int

    @property
    def duration_s(self) -> float:
        return self.num_samples / self.sample_rate_hz


def verdict_line(verdict: RecordingFacts | RecordingRefused) -> bytes:
    """One line of JSON; `parse_verdict` reads it."""
    match verdict:
        case RecordingRefused(code=code, detail=detail):
            fields: dict[str, str | int] = {"refused": code, "detail": detail}
        case RecordingFacts(container, rate, channels, samples):
            fields = {"container": container, "rate": rate, "channels": channels, "samples": samples}
    return json.dumps(fields).encode() + b"\n"


def parse_verdict(line: bytes) -> RecordingFacts:
    """Raises `RecordingRefused` if that is the verdict, and `ValueError` if it is none."""
    fields = json.loads(line)
    match fields:
        case {"refused": str(code), "detail": str(detail)}:
            raise RecordingRefused(RefusalCode(code), detail)
        case {"container": str(container), "rate": int(rate), "channels": int(channels), "samples": int(samples)}:
            return RecordingFacts(Container(container), rate, channels, samples)
        case _:
            raise ValueError("no verdict")
