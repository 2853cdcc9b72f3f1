"""What those who take finished audio ask of a file, and the output that meets it: one table. Pure.

acx        ACX, "Audio submission requirements": RMS, peak, noise floor, room tone, length, MP3
podcast    Apple Podcasts, "Audio requirements": -16 LUFS within 1, true peak below -1 dB
audiobook  AES TD1008 (2021): speech at -18 LUFS, true peak below -1 dB
broadcast  EBU R 128 (2023): -23 LUFS within 0.5 LU, true peak below -1 dB

An output keeps below a peak by what MP3 and AAC add to it. RMS counts pauses, which LUFS does not, and weighs no
frequency. Speech at -20 LUFS has an RMS of -21 to -19 dB, and less in a chapter of one sentence. For that ACX's head
and tail are short ones: three seconds of speech between them still pass.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue


class OutputPreset(enum.StrEnum):
    """A publisher's requirements."""

    ACX = "acx"
    PODCAST = "podcast"
    AUDIOBOOK = "audiobook"
    BROADCAST = "broadcast"


@dataclass(frozen=True, slots=True)
class Range:
    """Both ends belong to it; None is no bound."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        match self:
            case Range(None, None):
                return "any"
            case Range(None, most):
                return f"at most {most:g}"
            case Range(least, None):
                return f"at least {least:g}"
            case Range(least, most):
                return f"{least:g}" if least == most else f"{least:g} to {most:g}"


@dataclass(frozen=True, slots=True)
class Preset:
    """Fields are named as those of the measures of a file; None asks nothing.

    codecs: FFmpeg's names of those that are taken; empty for any. is_constant_bitrate: whether it has to be. output:
    fields of a job's output that make such files.
    """

    codecs: tuple[str, ...] = ()
    is_constant_bitrate: bool = False
    bitrate_kbps: Range | None = None
    sample_rate_hz: Range | None = None
    duration_s: Range | None = None
    rms_db: Range | None = None
    peak_db: Range | None = None
    noise_floor_db: Range | None = None
    loudness_lufs: Range | None = None
    true_peak_db: Range | None = None
    head_s: Range | None = None
    tail_s: Range | None = None
    output: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


PRESETS: Mapping[OutputPreset, Preset] = {
    OutputPreset.ACX: Preset(
        codecs=("mp3", "mp3float"),
        is_constant_bitrate=True,
        bitrate_kbps=Range(least=192),
        sample_rate_hz=Range(44_100, 44_100),
        duration_s=Range(most=120 * 60),
        rms_db=Range(-23, -18),
        peak_db=Range(most=-3),
        noise_floor_db=Range(most=-60),
        head_s=Range(0.5, 1),
        tail_s=Range(1, 5),
        output={
            "formats": [{"type": "mp3", "files": "chapters", "bitrate_kbps": 192}],
            "sample_rate": 44_100,
            "loudness": {"target_lufs": -20.0, "max_true_peak_db": -4.0, "scope": "chapter"},
            "head_s": 0.6,
            "tail_s": 1.5,
            "room_tone_db": -72.0,
        },
    ),
    OutputPreset.PODCAST: Preset(
        loudness_lufs=Range(-17, -15),
        true_peak_db=Range(most=-1),
        output={
            "formats": [{"type": "mp3", "bitrate_kbps": 128}],
            "sample_rate": 44_100,
            "loudness": {"target_lufs": -16.0, "max_true_peak_db": -2.0, "scope": "job"},
        },
    ),
    OutputPreset.AUDIOBOOK: Preset(
        loudness_lufs=Range(-19, -17),
        true_peak_db=Range(most=-1),
        output={
            "formats": [{"type": "m4b", "bitrate_kbps": 128}],
            "sample_rate": 44_100,
            "loudness": {"target_lufs": -18.0, "max_true_peak_db": -2.0, "scope": "job"},
            "head_s": 0.5,
            "tail_s": 2.0,
        },
    ),
    OutputPreset.BROADCAST: Preset(
        loudness_lufs=Range(-23.5, -22.5),
        true_peak_db=Range(most=-1),
        output={
            "formats": [{"type": "wav"}],
            "sample_rate": 48_000,
            "loudness": {"target_lufs": -23.0, "max_true_peak_db": -1.5, "scope": "job"},
        },
    ),
}
