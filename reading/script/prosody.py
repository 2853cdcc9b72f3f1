"""How fast and how loud SSML wants a stretch: `rate` and `volume` of <prosody>, in the ways that vendors write them.

Words and numbers without a sign are of the voice's own pace and level, those with a sign of what is around. Pure.
"""

from __future__ import annotations

import math
import re

RATES = {"x-slow": 0.6, "slow": 0.8, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.6}
MIN_RATE, MAX_RATE = 0.5, 2.0

VOLUMES_DB = {"x-soft": -12.0, "soft": -6.0, "medium": 0.0, "default": 0.0, "loud": 4.0, "x-loud": 8.0}
MIN_GAIN_DB, MAX_GAIN_DB = -40.0, 12.0

SILENT = "silent"
"""The volume of what is not spoken at all."""

_NUMBER = r"(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})"
_RATE = re.compile(rf"([+-]?){_NUMBER}(%?)", re.ASCII)
_DECIBELS = re.compile(rf"([+-]?){_NUMBER}dB", re.ASCII | re.IGNORECASE)
_LOUDNESS = re.compile(rf"([+-]?){_NUMBER}%?", re.ASCII)
_LONGEST_SHOWN = 32


class ProsodyUnusable(ValueError):
    """nearest: what comes closest to what was asked for; None of what says nothing."""

    def __init__(self, detail: str, nearest: float | None = None) -> None:
        super().__init__(detail)
        self.nearest = nearest


def rate_of(value: str, around: float) -> float:
    """How much faster than the voice's own pace. around: that of the text outside. Raises `ProsodyUnusable`."""
    value = value.strip()
    if value.lower() in RATES:
        return RATES[value.lower()]
    match = _RATE.fullmatch(value)
    if match is None:
        raise ProsodyUnusable(
            f"{value[:_LONGEST_SHOWN]!r} is no rate; write 80%, +20%, 0.8 or one of {', '.join(RATES)}"
        )
    sign, number, percent = match.groups()
    factor = float(number) / (100 if percent else 1)
    rate = around * (1 + factor * (-1 if sign == "-" else 1)) if sign else factor
    return _within(round(rate, 4), MIN_RATE, MAX_RATE, "a rate is between half and twice the voice's own")


def gain_of(value: str, around: float) -> float:
    """Decibels to the voice's own level. around: those of the text outside. Raises `ProsodyUnusable`."""
    value = value.strip()
    if value.lower() in VOLUMES_DB:
        return VOLUMES_DB[value.lower()]
    gain = _gain(value, around)
    wanted = f"a volume is between {MIN_GAIN_DB:g} and {MAX_GAIN_DB:+g} dB of the voice's own; `{SILENT}` is not spoken"
    return _within(round(gain, 2), MIN_GAIN_DB, MAX_GAIN_DB, wanted)


def is_silent(value: str) -> bool:
    return value.strip().lower() == SILENT


def _gain(value: str, around: float) -> float:
    decibels = _DECIBELS.fullmatch(value)
    if decibels is not None:
        gain = float(decibels[2]) * (-1 if decibels[1] == "-" else 1)
        return around + gain if decibels[1] else gain
    match = _LOUDNESS.fullmatch(value)
    if match is None:
        raise ProsodyUnusable(
            f"{value[:_LONGEST_SHOWN]!r} is no volume; write -6dB, 50, +20% or one of {SILENT}, {', '.join(VOLUMES_DB)}"
        )
    share = float(match[2]) / 100
    if not match[1]:
        return _decibels(share)
    return around + _decibels(1 - share if match[1] == "-" else 1 + share)


def _decibels(share: float) -> float:
    return 20 * math.log10(share) if share > 0 else -math.inf


def _within(value: float, least: float, most: float, wanted: str) -> float:
    nearest = max(least, min(most, value))
    if nearest != value:
        raise ProsodyUnusable(wanted, nearest)
    return value
