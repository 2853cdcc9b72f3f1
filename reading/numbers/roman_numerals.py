"""Roman numerals as numbers. Pure."""

from __future__ import annotations

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def roman_value(numeral: str) -> int:
    """numeral: capitals from I to C, in an order that the caller has checked."""
    values = [_VALUES[letter] for letter in numeral]
    return sum(-one if one < following else one for one, following in zip(values, (*values[1:], 0), strict=True))
