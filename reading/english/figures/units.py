"""Measures behind a number: 5 km, 20m², 3.2 GHz, 45 min., a 35mm camera, 5–10%."""

from __future__ import annotations

import re

from reading.english.figures.fractions import FRACTION, SIGNS, measured
from reading.english.rule import (
    DASH,
    MINUS,
    NUMBER,
    EnglishRule,
    after,
    before,
    is_adjective,
    is_one,
    one_of,
    quantity,
    rule,
)

_LENGTHS = {
    "km": "kilometer",
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "µm": "micrometer",
    "nm": "nanometer",
}
_SINGULARS = {
    **_LENGTHS,
    **{f"{short}{mark}": f"square {name}" for short, name in _LENGTHS.items() for mark in ("²", "2", "^2")},
    **{f"{short}{mark}": f"cubic {name}" for short, name in _LENGTHS.items() for mark in ("³", "3", "^3")},
    "kg": "kilogram",
    "g": "gram",
    "mg": "milligram",
    "µg": "microgram",
    "tbsp": "tablespoon",
    "tsp": "teaspoon",
    "kHz": "",
    "l": "liter",
    "L": "liter",
    "ml": "milliliter",
    "mL": "milliliter",
    "cl": "centiliter",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "yd": "yard",
    "yds": "yard",
    "mi": "mile",
    "hr": "hour",
    "hrs": "hour",
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "secs": "second",
    "ms": "millisecond",
    "gal": "gallon",
    "gals": "gallon",
    "pt": "pint",
    "pts": "pint",
    "qt": "quart",
    "qts": "quart",
    "gn": "guinea",
    "gns": "guinea",
    "ha": "hectare",
    "cwt": "",
    "GB": "gigabyte",
    "MB": "megabyte",
    "kB": "kilobyte",
    "KB": "kilobyte",
    "TB": "terabyte",
    "dB": "decibel",
    "W": "watt",
    "kW": "kilowatt",
    "MW": "megawatt",
    "GW": "gigawatt",
    "kWh": "kilowatt hour",
    "V": "volt",
    "kV": "kilovolt",
    "mV": "millivolt",
    "mA": "milliampere",
    "kPa": "kilopascal",
    "Pa": "pascal",
    "kJ": "kilojoule",
    "kcal": "kilocalorie",
    "cal": "calorie",
    "Nm": "newton meter",
    "kN": "kilonewton",
    "mbar": "millibar",
    "ac": "acre",
    "sq. mi": "square mile",
    "sq mi": "square mile",
    "sq. m": "square meter",
    "sq m": "square meter",
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
    "°": "degree",
    "℃": "degree Celsius",
    "℉": "degree Fahrenheit",
}
_PER = {
    "km/h": ("kilometer", "hour"),
    "kmh": ("kilometer", "hour"),
    "kph": ("kilometer", "hour"),
    "mph": ("mile", "hour"),
    "m/s": ("meter", "second"),
    "Mbit/s": ("megabit", "second"),
    "Mbps": ("megabit", "second"),
    "Gbit/s": ("gigabit", "second"),
    "Gbps": ("gigabit", "second"),
    "MB/s": ("megabyte", "second"),
    "kbit/s": ("kilobit", "second"),
    "kbps": ("kilobit", "second"),
    "mpg": ("mile", "gallon"),
    "mg/l": ("milligram", "liter"),
    "g/l": ("gram", "liter"),
}
_FORMS: dict[str, tuple[str, str]] = {
    **{unit: (name, f"{name}s") for unit, name in _SINGULARS.items() if name},
    **{unit: (f"{name} per {part}", f"{name}s per {part}") for unit, (name, part) in _PER.items()},
    **{f"{sign}C": ("degree Celsius", "degrees Celsius") for sign in ("°", "° ", "º")},
    **{f"{sign}F": ("degree Fahrenheit", "degrees Fahrenheit") for sign in ("°", "° ", "º")},
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "℃": ("degree Celsius", "degrees Celsius"),
    "℉": ("degree Fahrenheit", "degrees Fahrenheit"),
    "%": ("percent", "percent"),
    "‰": ("per mille", "per mille"),
    "cwt": ("hundredweight", "hundredweight"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "ft": ("foot", "feet"),
    "in": ("inch", "inches"),
    "sq. ft": ("square foot", "square feet"),
    "sq ft": ("square foot", "square feet"),
    "cu. ft": ("cubic foot", "cubic feet"),
    "cu ft": ("cubic foot", "cubic feet"),
}
_SPACED = ("m", "g", "W", "V", "ac", "mi", "cal", "pt", "gal", "ha", "ms")
"""So short that they are units only behind a space: 5m may be five million, 3V a part's name."""

_FAST = tuple(unit for unit in _FORMS if unit not in (*_SPACED, "in", "m2", "m3"))

_FEET_BEFORE = re.compile(r"\b(?:ft\.?|feet|foot|by|x|×)\s\Z")


def _measure(match: re.Match[str]) -> str | None:
    unit = match["unit"] or match["spaced"] or match["inch"]
    if match["first_unit"] not in (None, unit) or (match["inch"] and not _is_inch(match)):
        return None
    one, many = _FORMS[unit]
    amount = quantity(match["amount"])
    if match["last"]:
        amount = f"{amount} to {quantity(match['last'])}"
    is_single = is_adjective(match) or (is_one(match["amount"]) and not match["last"])
    return f"{'minus ' if match['minus'] else ''}{amount} {one if is_single else many}"


def _fraction(match: re.Match[str]) -> str | None:
    return measured(match, *_FORMS[match["unit"]])


def _is_inch(match: re.Match[str]) -> bool:
    return match.group().endswith(".") or after(match).startswith(" ") or _FEET_BEFORE.search(before(match)) is not None


_GOES_ON = r"(?:(?<=[a-z])\.(?=\s{1,3}[a-z0-9(]|[,;:!?)—–]))?"
"""A unit's full stop that ends no sentence."""

_BEHIND = r"(?=-[a-z]|[.,;:!?)\]}\"'”’]{0,6}+(?:\s(?!\d{1,5}(?:st|nd|rd|th)\b)|—|–|…|[-\[†‡*]|\Z))"
RULES: tuple[EnglishRule, ...] = (
    rule(
        f"{SIGNS}0123456789",
        rf"{FRACTION}[\s-]?(?P<unit>{one_of(_FAST)})(?![\w²³/]){_GOES_ON}{_BEHIND}",
        _fraction,
    ),
    rule(
        "-−.0123456789",
        rf"(?P<minus>{MINUS})?(?P<amount>{NUMBER})(?:(?P<first_unit>{one_of(_FAST)})?{DASH}(?P<last>{NUMBER}))?"
        rf"(?:[\s-]?(?P<unit>{one_of(_FAST)})(?![\w²³/])|[\s-](?P<spaced>{one_of(_SPACED)})(?![\w/'’&])"
        rf"|\s(?P<inch>in)(?=\.|\s(?:tall|high|long|wide|deep|thick)\b)){_GOES_ON}{_BEHIND}",
        _measure,
    ),
)
