"""What those who take finished audio ask of a file. Pure.

acx        ACX, "Audio submission requirements": RMS, peak, noise floor, room tone, length, MP3
podcast    Apple Podcasts, "Audio requirements": -16 LUFS within 1, true peak below -1 dB
audiobook  AES TD1008 (2021): speech at -18 LUFS, true peak below -1 dB
broadcast  EBU R 128 (2023): -23 LUFS within 0.5 LU, true peak below -1 dB
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """Fields are named as those of `FileMeasures`; None asks nothing.

    codecs: FFmpeg's names of those that are taken; empty for any. is_constant_bitrate: whether it has to be.
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


PRESETS = {
    "acx": Preset(
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
    ),
    "podcast": Preset(loudness_lufs=Range(-17, -15), true_peak_db=Range(most=-1)),
    "audiobook": Preset(loudness_lufs=Range(-19, -17), true_peak_db=Range(most=-1)),
    "broadcast": Preset(loudness_lufs=Range(-23.5, -22.5), true_peak_db=Range(most=-1)),
}
