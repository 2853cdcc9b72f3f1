"""What a language needs to say numbers, money and units: data, and the words of num2words.

A number agrees with its noun in many languages, and nothing here knows nouns. Each language says how to tell the words
that would: those are left as digits unless what follows is known. Russian numbers decline with nearly every word around
them, so there are no rules for Russian.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

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
    digits behind it are said one by one if `says_digits`, else as one number. per_cent: said behind the number.
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
    clock: re.Pattern[str] | None = None
    hours: Mapping[int, str] = field(default_factory=dict[int, str])
    other_hours: str = ""


def cardinal(language: NumberLanguage, number: int) -> str:
    return _words(number, language.tag, "cardinal")


def ordinal(language: NumberLanguage, number: int) -> str:
    """Masculine."""
    return _words(number, language.tag, "ordinal")


def _words(number: int, tag: str, form: str) -> str:
    words = cast("str", num2words(number, lang=tag, to=form))
    # What the library says instead of a thousands comma is a pause that no speaker makes.
    return "null" if words == "null" else words.replace(",", "")


_NEVER = re.compile(r"(?!)")
_SPACES = "\u00a0\u202f\u2009"

GERMAN = NumberLanguage(
    tag="de",
    groups=f".{_SPACES}",
    comma="Komma",
    minus="minus",
    per_cent="Prozent",
    cents=" ",
    says_digits=True,
    always_agrees=re.compile(r"eins$"),
    agrees_feminine=_NEVER,
    money={
        "€": Noun("ein Euro", "Euro"),
        "$": Noun("ein Dollar", "Dollar"),
        "£": Noun("ein Pfund", "Pfund"),
    },
    units={
        "km/h": Noun("ein Kilometer pro Stunde", "Kilometer pro Stunde"),
        "km": Noun("ein Kilometer", "Kilometer"),
        "cm": Noun("ein Zentimeter", "Zentimeter"),
        "mm": Noun("ein Millimeter", "Millimeter"),
        "kg": Noun("ein Kilogramm", "Kilogramm"),
        "mg": Noun("ein Milligramm", "Milligramm"),
        "°C": Noun("ein Grad Celsius", "Grad Celsius"),
    },
    clock=re.compile(r"(?P<hour>[01]?\d|2[0-4])[.:](?P<minute>[0-5]\d)\sUhr\b"),
    hours={1: "ein Uhr"},
    other_hours="Uhr",
)
FRENCH = NumberLanguage(
    tag="fr",
    groups=f" {_SPACES}",
    comma="virgule",
    minus="moins",
    per_cent="pour cent",
    cents=" ",
    says_digits=False,
    always_agrees=re.compile(r"\bun$"),
    agrees_feminine=_NEVER,
    money={
        "€": Noun("un euro", "euros"),
        "$": Noun("un dollar", "dollars"),
        "£": Noun("une livre", "livres", is_feminine=True),
    },
    units={
        "km/h": Noun("un kilomètre à l'heure", "kilomètres à l'heure"),
        "km": Noun("un kilomètre", "kilomètres"),
        "cm": Noun("un centimètre", "centimètres"),
        "mm": Noun("un millimètre", "millimètres"),
        "kg": Noun("un kilogramme", "kilogrammes"),
        "mg": Noun("un milligramme", "milligrammes"),
        "°C": Noun("un degré Celsius", "degrés Celsius"),
    },
    clock=re.compile(r"(?P<hour>[01]?\d|2[0-4])\s?h\s?(?P<minute>[0-5]\d)\b"),
    hours={0: "zéro heure", 1: "une heure", 21: "vingt et une heures"},
    other_hours="heures",
)
SPANISH = NumberLanguage(
    tag="es",
    groups=f".{_SPACES}",
    comma="coma",
    minus="menos",
    per_cent="por ciento",
    cents=" con ",
    says_digits=False,
    always_agrees=re.compile(r"uno$"),
    agrees_feminine=re.compile(r"cientos|quinientos"),
    money={
        "€": Noun("un euro", "euros"),
        "$": Noun("un dólar", "dólares"),
        "£": Noun("una libra", "libras", is_feminine=True),
    },
    units={
        "km/h": Noun("un kilómetro por hora", "kilómetros por hora"),
        "km": Noun("un kilómetro", "kilómetros"),
        "cm": Noun("un centímetro", "centímetros"),
        "mm": Noun("un milímetro", "milímetros"),
        "kg": Noun("un kilogramo", "kilogramos"),
        "mg": Noun("un miligramo", "miligramos"),
        "°C": Noun("un grado Celsius", "grados Celsius"),
    },
)
ITALIAN = NumberLanguage(
    tag="it",
    groups=f".{_SPACES}",
    comma="virgola",
    minus="meno",
    per_cent="per cento",
    cents=" e ",
    says_digits=False,
    always_agrees=re.compile(r"^uno$"),
    agrees_feminine=_NEVER,
    money={
        "€": Noun("un euro", "euro"),
        "$": Noun("un dollaro", "dollari"),
        "£": Noun("una sterlina", "sterline", is_feminine=True),
    },
    units={
        "km/h": Noun("un chilometro all'ora", "chilometri all'ora"),
        "km": Noun("un chilometro", "chilometri"),
        "cm": Noun("un centimetro", "centimetri"),
        "mm": Noun("un millimetro", "millimetri"),
        "kg": Noun("un chilogrammo", "chilogrammi"),
        "mg": Noun("un milligrammo", "milligrammi"),
        "°C": Noun("un grado Celsius", "gradi Celsius"),
    },
)
PORTUGUESE = NumberLanguage(
    # As most of its speakers count: dezesseis, um bilhão.
    tag="pt_BR",
    groups=f".{_SPACES}",
    comma="vírgula",
    minus="menos",
    per_cent="por cento",
    cents=" e ",
    says_digits=False,
    always_agrees=re.compile(r"\bum$"),
    agrees_feminine=re.compile(r"\bdois$|entos"),
    money={
        "€": Noun("um euro", "euros"),
        "R$": Noun("um real", "reais"),
        "$": Noun("um dólar", "dólares"),
        "£": Noun("uma libra", "libras", is_feminine=True),
    },
    units={
        "km/h": Noun("um quilômetro por hora", "quilômetros por hora"),
        "km": Noun("um quilômetro", "quilômetros"),
        "cm": Noun("um centímetro", "centímetros"),
        "mm": Noun("um milímetro", "milímetros"),
        "kg": Noun("um quilograma", "quilogramas"),
        "mg": Noun("um miligrama", "miligramas"),
        "°C": Noun("um grau Celsius", "graus Celsius"),
    },
)
