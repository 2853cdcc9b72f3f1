"""What each audio format holds and takes. Pure.

`FORMATS` is the one table of what each format takes; requests are checked against it and /v1/capabilities shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from rhapsode.contract.jobs.output import AudioFormat, SampleRate


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


SAMPLE_RATES_HZ: tuple[int, ...] = get_args(SampleRate)

FORMATS: dict[AudioFormat, FormatFacts] = {
    AudioFormat.WAV: FormatFacts("audio/wav", "", SAMPLE_RATES_HZ, None, has_chapters=False, has_tags=False),
    AudioFormat.FLAC: FormatFacts("audio/flac", "flac", SAMPLE_RATES_HZ, None, has_chapters=True, has_tags=True),
    AudioFormat.MP3: FormatFacts("audio/mpeg", "libmp3lame", SAMPLE_RATES_HZ, 96, has_chapters=True, has_tags=True),
    AudioFormat.OPUS: FormatFacts(
        "audio/ogg", "libopus", (8_000, 12_000, 16_000, 24_000, 48_000), 48, has_chapters=True, has_tags=True
    ),
    AudioFormat.M4B: FormatFacts("audio/mp4", "aac", SAMPLE_RATES_HZ, 96, has_chapters=True, has_tags=True),
    AudioFormat.AAC: FormatFacts("audio/aac", "aac", SAMPLE_RATES_HZ, 96, has_chapters=False, has_tags=False),
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
        case AudioFormat.M4B | AudioFormat.AAC:
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
