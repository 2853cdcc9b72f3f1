"""What a narration's audio is delivered as: formats, sample rate, loudness, chapters, subtitles and tags. Pure.

`FORMATS` is the one table of what each format takes; requests are checked against it and /v1/capabilities shows it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class AudioFormat(enum.StrEnum):
    """By the usual name of the file."""

    WAV = "wav"
    FLAC = "flac"
    MP3 = "mp3"
    OPUS = "opus"
    M4B = "m4b"


@dataclass(frozen=True, slots=True)
class FormatFacts:
    """What a format is and takes.

    codec: FFmpeg's name of the encoder; "" for plain PCM. sample_rates_hz: what it can hold. default_bitrate_kbps: None
    if it has no bitrate to choose. has_chapters, has_tags: whether the file carries them.
    """

    content_type: str
    codec: str
    sample_rates_hz: tuple[int, ...]
    default_bitrate_kbps: int | None
    has_chapters: bool
    has_tags: bool


SAMPLE_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)

FORMATS: dict[AudioFormat, FormatFacts] = {
    AudioFormat.WAV: FormatFacts("audio/wav", "", SAMPLE_RATES_HZ, None, has_chapters=False, has_tags=False),
    AudioFormat.FLAC: FormatFacts("audio/flac", "flac", SAMPLE_RATES_HZ, None, has_chapters=True, has_tags=True),
    AudioFormat.MP3: FormatFacts("audio/mpeg", "libmp3lame", SAMPLE_RATES_HZ, 96, has_chapters=True, has_tags=True),
    AudioFormat.OPUS: FormatFacts(
        "audio/ogg", "libopus", (8_000, 12_000, 16_000, 24_000, 48_000), 48, has_chapters=True, has_tags=True
    ),
    AudioFormat.M4B: FormatFacts("audio/mp4", "aac", SAMPLE_RATES_HZ, 96, has_chapters=True, has_tags=True),
}

_MP3_MPEG1_KBPS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_MPEG2_KBPS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MP3_MPEG25_KBPS = tuple(rate for rate in _MP3_MPEG2_KBPS if rate <= 64)

_AAC_BITS_PER_FRAME = 6144
_AAC_SAMPLES_PER_FRAME = 1024


def bitrates_kbps(form: AudioFormat, sample_rate_hz: int) -> tuple[int, ...] | range:
    """The bitrates of one channel that the format has at this sample rate; empty if there is nothing to choose."""
    match form:
        case AudioFormat.WAV | AudioFormat.FLAC:
            return ()
        case AudioFormat.OPUS:
            return range(6, 257)
        case AudioFormat.M4B:
            return range(16, _AAC_BITS_PER_FRAME * sample_rate_hz // _AAC_SAMPLES_PER_FRAME // 1000 + 1)
        case AudioFormat.MP3 if sample_rate_hz >= 32_000:
            return _MP3_MPEG1_KBPS
        case AudioFormat.MP3 if sample_rate_hz >= 16_000:
            return _MP3_MPEG2_KBPS
        case AudioFormat.MP3:
            return _MP3_MPEG25_KBPS


def default_bitrate_kbps(form: AudioFormat, sample_rate_hz: int) -> int | None:
    """The format's own, or the highest that it has at this sample rate if that is lower."""
    wanted = FORMATS[form].default_bitrate_kbps
    if wanted is None:
        return None
    return min(wanted, max(bitrates_kbps(form, sample_rate_hz)))


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """bitrate_kbps: of the one channel; None where the format has none to choose."""

    type: AudioFormat = AudioFormat.WAV
    bitrate_kbps: int | None = None


class LoudnessScope(enum.StrEnum):
    """Over what loudness is measured and one gain is set."""

    JOB = "job"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True)
class LoudnessTarget:
    """Integrated loudness after EBU R128 in LUFS, and the highest true peak in dB of full scale."""

    target_lufs: float = -18.0
    max_true_peak_db: float = -1.5
    scope: LoudnessScope = LoudnessScope.JOB


class ChapterMarks(enum.StrEnum):
    AUTO = "auto"
    """The chapters of the document; a text without any has none."""

    OFF = "off"


class Timestamps(enum.StrEnum):
    SEGMENT = "segment"
    """A file of JSON with the place of every segment."""

    OFF = "off"


class SubtitleFormat(enum.StrEnum):
    SRT = "srt"
    VTT = "vtt"


@dataclass(frozen=True, slots=True)
class Tags:
    """What the file says of itself; "" is left to the document where it knows, else out."""

    title: str = ""
    author: str = ""
    narrator: str = ""
    album: str = ""
    genre: str = ""
    date: str = ""
    publisher: str = ""
    copyright: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """Under what the finished files lie in the store: folders of the caller's choice, lower case, "books/42/"."""

    prefix: str


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """sample_rate_hz: None is the model's own. loudness: None leaves it as the model speaks.

    destination: None is among the job's other objects. A job keeps it for as long as it lives.
    """

    formats: tuple[OutputFormat, ...] = (OutputFormat(),)
    sample_rate_hz: int | None = None
    loudness: LoudnessTarget | None = None
    chapters: ChapterMarks = ChapterMarks.AUTO
    timestamps: Timestamps = Timestamps.OFF
    subtitles: tuple[SubtitleFormat, ...] = ()
    tags: Tags = field(default_factory=Tags)
    destination: Destination | None = None
