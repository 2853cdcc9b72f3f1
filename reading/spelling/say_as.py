"""Text that is to be interpreted as something: SSML's `say-as`, in the words of a narrator.

Right, or untouched: what does not look like what it is said to be is left to how the rest is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reading.english.figures.calendar import MONTHS
from reading.english.letters.letter_names import LETTER_NAMES
from reading.languages.names import AUTO_LANGUAGE
from reading.numbers.english_words import BEYOND, cardinal, ordinal
from reading.spelling.normalizers import NORMALIZERS

MOST_CHARS = 200
"""Of a text that is interpreted."""

_ENGLISH = "english"
_SPELLED = frozenset({"characters", "spell-out", "verbatim"})
_AS_WRITTEN = frozenset({"name", "net", "address", "media"})
_NUMBER = re.compile(r"[+]?(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})")
_ORDINAL = re.compile(r"(\d{1,12})(?:st|nd|rd|th)?", re.IGNORECASE)
_DATE_PART = re.compile(r"\d{1,4}|[^\W\d_]{3,9}")
_MINUTES = re.compile(r"(?:(\d{1,3})['′])?(?:(\d{1,2})[\"″])?")
_ORDERS = frozenset({"mdy", "dmy", "ymd", "md", "dm", "ym", "my", "y", "m"})


@dataclass(frozen=True, slots=True)
class Speller:
    """language: the job's. names_letters: letters by their names, for a model that knows no letter alone."""

    language: str
    names_letters: bool

    def say_as(self, kind: str, form: str, text: str, language: str) -> str | None:
        """As `reading.script.lenient_ssml.SayAs`. language: "" is the job's."""
        spoken_in = (language or self.language).casefold()
        is_english = spoken_in in (_ENGLISH, AUTO_LANGUAGE)
        if not text or len(text) > MOST_CHARS:
            return None
        if kind in _SPELLED:
            return self._spelled(text, is_english=is_english)
        if kind in _AS_WRITTEN:
            return text
        own = _ENGLISH_KINDS.get(kind) if is_english else None
        return own(text, form) if own else _by_rules(text, spoken_in)

    def _spelled(self, text: str, *, is_english: bool) -> str:
        characters = (character for character in text if not character.isspace())
        if not is_english:
            return " ".join(characters)
        return " ".join(map(self._name, characters))

    def _name(self, character: str) -> str:
        if character.isascii() and character.isdigit():
            return cardinal(int(character))
        return LETTER_NAMES.get(character.upper(), character) if self.names_letters else character


def _by_rules(text: str, language: str) -> str | None:
    """As the front end reads it in the text, if it leaves no digit."""
    rules = NORMALIZERS.get(_ENGLISH if language == AUTO_LANGUAGE else language)
    if rules is None:
        return None
    parts: list[str] = []
    at = 0
    for each in rules(text, 0, len(text)):
        parts += (text[at : each.start], each.spoken)
        at = each.end
    spoken = "".join((*parts, text[at:]))
    return None if any(character.isdigit() for character in spoken) else spoken


def _english(text: str, _form: str = "") -> str | None:
    return _by_rules(text, _ENGLISH)


def _cardinal(text: str, _form: str) -> str | None:
    match = _NUMBER.fullmatch(text)
    number = int(match[1].replace(",", "")) if match else BEYOND
    return cardinal(number) if number < BEYOND else _english(text)


def _ordinal(text: str, _form: str) -> str | None:
    match = _ORDINAL.fullmatch(text)
    return ordinal(int(match[1])) if match else None


def _digits(text: str, _form: str) -> str | None:
    figures = [character for character in text if character not in " -.,"]
    is_known = all(character.isascii() and character.isdigit() for character in figures)
    return " ".join(cardinal(int(character)) for character in figures) if figures and is_known else None


def _telephone(text: str, _form: str) -> str | None:
    """Digit by digit, with a pause between the groups."""
    groups = re.findall(r"\d+", text)
    plus = "plus " if text.startswith("+") else ""
    if not groups or re.search(r"[^\d\s()+./-]", text):
        return None
    return plus + ", ".join(" ".join(cardinal(int(digit)) for digit in group) for group in groups)


def _date(text: str, form: str) -> str | None:
    """form: the order of day, month and year, as `mdy` or `yyyymmdd`; without one only the order of ISO 8601."""
    order = re.sub(r"(.)\1+", r"\1", form) if form else "ymd"
    parts = _divided(text, order) if text.isdigit() else _DATE_PART.findall(text)
    if order not in _ORDERS or len(parts) != len(order):
        return _english(text) if any(map(str.isalpha, text)) else None
    found = dict(zip(order, parts, strict=True))
    month = _month(found.get("m", "1"))
    day, year = found.get("d", "1"), found.get("y", "1900")
    if month is None or not day.isdigit() or not year.isdigit() or not 1 <= int(day) <= 31:
        return None
    words = [month] if "m" in found else []
    words += [ordinal(int(day))] if "d" in found else []
    said = " ".join(words)
    spoken_year = _english(f"in {year}") if "y" in found else None
    if "y" in found and spoken_year is None:
        return None
    year_words = (spoken_year or "").removeprefix("in ")
    return f"{said}, {year_words}" if said and year_words else said or year_words


def _divided(digits: str, order: str) -> list[str]:
    """Two digits each, four of a year; nothing where there are more or fewer."""
    if len(digits) != 2 * len(order) + 2 * order.count("y"):
        return []
    parts: list[str] = []
    for each in order:
        size = 4 if each == "y" else 2
        parts.append(digits[:size])
        digits = digits[size:]
    return parts


def _month(text: str) -> str | None:
    if text.isdigit():
        return MONTHS[int(text) - 1] if 1 <= int(text) <= len(MONTHS) else None
    return next((month for month in MONTHS if month.casefold().startswith(text[:3].casefold())), None)


def _time(text: str, _form: str) -> str | None:
    """1'21" is a duration, anything else a clock."""
    match = _MINUTES.fullmatch(text)
    if match is None:
        return _english(text)
    lengths = [(match[1], "minute"), (match[2], "second")]
    said = [f"{cardinal(int(each))} {unit}{'' if int(each) == 1 else 's'}" for each, unit in lengths if each]
    return " ".join(said) or None


def _fraction(text: str, _form: str) -> str | None:
    return _english(text.replace("+", " "))


_ENGLISH_KINDS: Mapping[str, Callable[[str, str], str | None]] = {
    "cardinal": _cardinal,
    "number": _cardinal,
    "ordinal": _ordinal,
    "digits": _digits,
    "digit": _digits,
    "telephone": _telephone,
    "date": _date,
    "time": _time,
    "duration": _time,
    "fraction": _fraction,
    "unit": _english,
    "currency": _english,
}
