"""Numbers, dates, money and units in English, as words. Rules of our own, few and predictable; what none of them knows
stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from storage.narration.script.script import Replacement
from worker.speech.text.numbers.english_words import cardinal, digits, ordinal, year

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONEY = {"$": ("dollar", "cent"), "£": ("pound", "penny"), "€": ("euro", "cent"), "¥": ("yen", "")}
_UNITS = {
    "%": ("percent", "percent"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "ft": ("foot", "feet"),
    "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"),
    "kHz": ("kilohertz", "kilohertz"),
    "Hz": ("hertz", "hertz"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
}
_YEAR_CUE = re.compile(
    rf"\b(?:in|since|by|from|until|till|to|of|year|circa|before|after|around|{'|'.join(_MONTHS)})(?:\s+\d{{1,2}},)?\s+$",
    re.IGNORECASE,
)
_CUE_CHARS = 24
_MOST_DIGITS = 15

_GROUP = re.compile(r"\d+")
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT_NAMES = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
# Nothing that touches a letter, a digit or another mark of a number: versions, addresses and codes are left alone.
_FOUND = re.compile(
    rf"""(?<![\w.,/:+#-])(?:
        (?P<date>\d{{4}}-\d{{2}}-\d{{2}})
      | (?P<phone>(?:\(\d{{3}}\)\s?|\d{{3}}[-\s])?\d{{3}}-\d{{4}})
      | (?P<clock>(?:[01]?\d|2[0-3]):[0-5]\d)(?!:)
      | (?P<currency>[$£€¥])\s?(?P<amount>{_NUMBER})(?:\s(?P<scale>thousand|million|billion|trillion)\b)?
      | (?P<sign>[-−])?(?P<measure>{_NUMBER})\s?(?P<unit>{_UNIT_NAMES})(?![\w/])
      | (?P<ordinal>\d{{1,9}})(?:st|nd|rd|th)\b
      | (?P<negative>[-−])?(?P<number>{_NUMBER})
    )(?![\w%]|[.,:/-]\d)""",
    re.VERBOSE,
)


def respell_english(text: str, start: int, end: int) -> Iterator[Replacement]:
    """Replacements for text[start:end], in order."""
    for match in _FOUND.finditer(text, start, end):
        spoken = _spoken(match, text)
        if spoken is not None:
            yield Replacement(match.start(), match.end(), spoken)


def _spoken(match: re.Match[str], text: str) -> str | None:
    if match["date"]:
        return _date(match["date"])
    if match["phone"]:
        return ", ".join(digits(group) for group in _GROUP.findall(match["phone"]))
    if match["clock"]:
        return _clock(match["clock"])
    if match["currency"]:
        return _money(match["currency"], match["amount"], match["scale"])
    if match["unit"]:
        one, many = _UNITS[match["unit"]]
        sign = "minus " if match["sign"] else ""
        return f"{sign}{_quantity(match['measure'])} {one if match['measure'] == '1' else many}"
    if match["ordinal"]:
        return ordinal(int(match["ordinal"]))
    if _is_year(match, text):
        return year(int(match["number"]))
    return ("minus " if match["negative"] else "") + _quantity(match["number"])


def _is_year(match: re.Match[str], text: str) -> bool:
    number = match["number"]
    if match["negative"] or len(number) != 4 or not number.isdecimal() or not 1100 <= int(number) <= 2099:
        return False
    return _YEAR_CUE.search(text[max(0, match.start() - _CUE_CHARS) : match.start()]) is not None


def _quantity(written: str) -> str:
    whole, _, decimals = written.replace(",", "").partition(".")
    # Codes and account numbers are read digit by digit, as are those that begin with a zero.
    is_code = len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole[0] == "0")
    words = digits(whole) if is_code else cardinal(int(whole))
    return f"{words} point {digits(decimals)}" if decimals else words


def _date(written: str) -> str | None:
    number, month, day = (int(part) for part in written.split("-"))
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS_OF_MONTH[month - 1]:
        return None
    return f"{_MONTHS[month - 1]} {ordinal(day)}, {year(number)}"


def _clock(written: str) -> str:
    hour, minute = (int(part) for part in written.split(":"))
    if minute == 0:
        return f"{cardinal(hour)} o'clock" if 1 <= hour <= 12 else f"{cardinal(hour)} hundred"
    return f"{cardinal(hour)} {'oh ' if minute < 10 else ''}{cardinal(minute)}"


def _money(sign: str, amount: str, scale: str | None) -> str:
    unit, part = _MONEY[sign]
    plural = unit if unit == "yen" else f"{unit}s"
    whole, _, decimals = amount.replace(",", "").partition(".")
    if scale or len(decimals) != 2 or not part:
        words = _quantity(amount) + (f" {scale}" if scale else "")
        return f"{words} {unit if words == 'one' else plural}"
    main = f"{_quantity(whole)} {unit if int(whole) == 1 else plural}"
    if int(decimals) == 0:
        return main
    small = part if int(decimals) == 1 else {"penny": "pence"}.get(part, f"{part}s")
    parts = f"{cardinal(int(decimals))} {small}"
    return f"{main} and {parts}" if int(whole) else parts
