"""What a language needs to say numbers, money and units: `european_words.json`, and the words of num2words.

A number agrees with its noun in many languages, and nothing here knows nouns. Each language says how to tell the words
that would: those are left as digits unless what follows is known. Russian numbers decline with nearly every word around
them, so there are no rules for Russian.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from num2words import num2words

MAX_DIGITS = 12
"""Longer ones are account numbers."""


@dataclass(frozen=True, slots=True)
class Noun:
    """one: number and noun together. is_feminine: its numbers agree with it."""

    one: str
    many: str
    is_feminine: bool = False


@dataclass(frozen=True, slots=True)
class NumberLanguage:
    """A language that is written with spaces and decimal commas.

    tag: its name in num2words. groups: what may stand between thousands. comma: how the decimal comma is said; the
    digits after it are said one by one if `says_digits`, else as one number. per_cent: said behind the number.
    always_agrees: ends of number words that change before any noun. agrees_feminine: words that change before a
    feminine one. cents: between the money and its hundredths. hours: said between hour and minute, where a clock is
    written in the language's own way; hour: the pattern of that writing, of two groups.
    """

    tag: str
    groups: str
    comma: str
    minus: str
    per_cent: str
    cents: str
    says_digits: bool
    always_agrees: re.Pattern[str]
    agrees_feminine: re.Pattern[str]
    money: Mapping[str, Noun]
    units: Mapping[str, Noun]
    clock: re.Pattern[str]
    hours: Mapping[int, str]
    other_hours: str


def cardinal(language: NumberLanguage, number: int) -> str:
    return _words(number, language.tag, "cardinal")


def ordinal(language: NumberLanguage, number: int) -> str:
    """Masculine."""
    return _words(number, language.tag, "ordinal")


def _words(number: int, tag: str, form: str) -> str:
    words = cast("str", num2words(number, lang=tag, to=form))
    # What the library says instead of a thousands comma is a pause that no speaker makes.
    return "null" if words == "null" else words.replace(",", "")


_SPACES = "\u00a0\u202f\u2009"


_NEVER = re.compile(r"(?!)")
_LANGUAGES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _language(
    name: str, one: re.Pattern[str], feminine: re.Pattern[str] = _NEVER, clock: re.Pattern[str] = _NEVER
) -> NumberLanguage:
    """What the file says of it. A noun there has one, many, and "feminine" where numbers agree."""
    said: dict[str, Any] = _LANGUAGES[name]
    for kind in ("money", "units"):
        said[kind] = {sign: Noun(one, many, bool(rest)) for sign, (one, many, *rest) in said[kind].items()}
    said["hours"] = {int(hour): words for hour, words in said["hours"].items()}
    groups = f"{said.pop('thousands')}{_SPACES}"
    return NumberLanguage(groups=groups, always_agrees=one, agrees_feminine=feminine, clock=clock, **said)


GERMAN = _language(
    "german", re.compile(r"eins$"), clock=re.compile(r"(?P<hour>[01]?\d|2[0-4])[.:](?P<minute>[0-5]\d)\sUhr\b")
)
FRENCH = _language(
    "french", re.compile(r"\bun$"), clock=re.compile(r"(?P<hour>[01]?\d|2[0-4])\s?h\s?(?P<minute>[0-5]\d)\b")
)
SPANISH = _language("spanish", re.compile(r"uno$"), re.compile(r"cientos|quinientos"))
ITALIAN = _language("italian", re.compile(r"^uno$"))
PORTUGUESE = _language("portuguese", re.compile(r"\bum$"), re.compile(r"\bdois$|entos"))
"""As most of its speakers count: dezesseis, um bilhão."""
