"""A file's measures against what a publisher asks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rhapsode.contract.jobs.presets import Preset, Range
from worker.speech.mastering.measuring import FileMeasures

_FIGURES = (
    ("rms_db", "RMS", "dB"),
    ("peak_db", "peak", "dB"),
    ("noise_floor_db", "noise floor", "dB"),
    ("loudness_lufs", "loudness", "LUFS"),
    ("true_peak_db", "true peak", "dB"),
    ("head_s", "silence before", "s"),
    ("tail_s", "silence behind", "s"),
    ("duration_s", "length", "s"),
    ("sample_rate_hz", "sample rate", "Hz"),
    ("bitrate_kbps", "bitrate", "kbit/s"),
)

_TOLERANCE = {"bitrate_kbps": 0.5, "rms_db": 0.005, "peak_db": 0.005, "loudness_lufs": 0.05, "true_peak_db": 0.05}
"""Figures are printed rounded, so half of the last digit is tolerated: -16.0 passes for -16."""

DIGITS = {"sample_rate_hz": 0, "bitrate_kbps": 0}
DEFAULT_DIGITS = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """is_met: None where nothing is asked. asked: "" likewise."""

    name: str
    found: str
    asked: str = ""
    is_met: bool | None = None


def figures(found: FileMeasures, preset: Preset) -> tuple[Figure, ...]:
    """Every figure of the file, those that nothing is asked of among them."""
    return (*_of_the_format(found, preset), *_of_the_sound(found, preset))


def _of_the_format(found: FileMeasures, preset: Preset) -> Iterator[Figure]:
    asked = preset.codecs[0] if preset.codecs else ""
    yield Figure("format", found.codec, asked, found.codec in preset.codecs if preset.codecs else None)
    yield Figure("channels", str(found.channels))
    if preset.is_constant_bitrate:
        kind = "constant" if found.is_constant_bitrate else "variable"
        yield Figure("kind of bitrate", kind, "constant", found.is_constant_bitrate)


def _of_the_sound(found: FileMeasures, preset: Preset) -> Iterator[Figure]:
    for field, name, unit in _FIGURES:
        value: float = getattr(found, field)
        asked: Range | None = getattr(preset, field)
        told = f"{value:.{DIGITS.get(field, DEFAULT_DIGITS)}f} {unit}"
        if asked is None:
            yield Figure(name, told)
        else:
            yield Figure(name, told, f"{asked} {unit}", _widened(asked, _TOLERANCE.get(field, 0.0)).holds(value))


def _widened(asked: Range, tolerance: float) -> Range:
    least = None if asked.least is None else asked.least - tolerance
    return Range(least, None if asked.most is None else asked.most + tolerance)


def unlike(files: Sequence[FileMeasures]) -> tuple[str, ...]:
    """What the files of one book do not share, and have to."""
    kinds = {"channels": {each.channels for each in files}, "sample rates": {each.sample_rate_hz for each in files}}
    return tuple(
        f"the files have different {name}: {', '.join(map(str, sorted(values)))}"
        for name, values in kinds.items()
        if len(values) > 1
    )
