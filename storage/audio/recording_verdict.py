"""What the process that decodes recordings answers. Pure, and light: that process is started for every recording."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

MIN_DURATION_S = 1.0
MAX_DURATION_S = 60.0
"""Of a longer recording the best part of this length is used."""

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


TEXT_OF_LONGER = (
    f"only {MAX_DURATION_S:g} s of the recording are used, and `ref_text` belongs to the whole; send a recording of at "
    f"most {MAX_DURATION_S:g} s, or leave `ref_text` out"
)
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


class Repair(enum.StrEnum):
    """What was done to a recording that is taken; a sentence for its sender."""

    CUT = f"the recording is longer than {MAX_DURATION_S:g} s; its best {MAX_DURATION_S:g} s are used"
    PHASE = "one channel of the recording had its phase inverted; it was turned back"


class RecordingRefused(Exception):
    """The recording cannot become a voice; `detail` is a sentence for its sender."""

    def __init__(self, code: RefusalCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What was decoded, not what the file claims. num_samples: of one channel. repairs: `Repair`s."""

    container: Container
    sample_rate_hz: int
    num_channels: int
    num_samples: int
    repairs: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        return self.num_samples / self.sample_rate_hz

    def refuse_text(self, ref_text: str) -> None:
        """The words that a cut recording still has are not known. Raises `RecordingRefused`."""
        if ref_text.strip() and Repair.CUT in self.repairs:
            raise RecordingRefused(RefusalCode.TOO_LONG, TEXT_OF_LONGER)


def verdict_line(verdict: RecordingFacts | RecordingRefused) -> bytes:
    """One line of JSON; `parse_verdict` reads it."""
    match verdict:
        case RecordingRefused(code=code, detail=detail):
            fields: dict[str, str | int | tuple[str, ...]] = {"refused": code, "detail": detail}
        case RecordingFacts(container, rate, channels, samples, repairs):
            sizes = {"rate": rate, "channels": channels, "samples": samples}
            fields = {"container": container, **sizes, "repairs": repairs}
    return json.dumps(fields).encode() + b"\n"


def parse_verdict(line: bytes) -> RecordingFacts:
    """Raises `RecordingRefused` if that is the verdict, and `ValueError` if it is none."""
    fields = json.loads(line)
    match fields:
        case {"refused": str(code), "detail": str(detail)}:
            raise RecordingRefused(RefusalCode(code), detail)
        case {"container": str(kind), "rate": int(rate), "channels": int(channels), "samples": int(samples)}:
            return RecordingFacts(Container(kind), rate, channels, samples, tuple(map(str, fields["repairs"])))
        case _:
            raise ValueError("no verdict")
