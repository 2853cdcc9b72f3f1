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

from reading.languages.tables import table

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


def _nouns(lines: str) -> dict[str, Noun]:
    """What is written as "km=un kilomètre, kilomètres", with ", feminine" after it where numbers agree."""
    split = {sign: said.split(", ") for sign, said in table(lines).items()}
    return {sign: Noun(one, many, is_feminine=bool(rest)) for sign, (one, many, *rest) in split.items()}


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
    money=_nouns("€=ein Euro, Euro|$=ein Dollar, Dollar|£=ein Pfund, Pfund"),
    units=_nouns(
        """
        km/h=ein Kilometer pro Stunde, Kilometer pro Stunde|km=ein Kilometer, Kilometer
        cm=ein Zentimeter, Zentimeter|mm=ein Millimeter, Millimeter|kg=ein Kilogramm, Kilogramm
        mg=ein Milligramm, Milligramm|°C=ein Grad Celsius, Grad Celsius
        """
    ),
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
    money=_nouns("€=un euro, euros|$=un dollar, dollars|£=une livre, livres, feminine"),
    units=_nouns(
        """
        km/h=un kilomètre à l'heure, kilomètres à l'heure|km=un kilomètre, kilomètres|cm=un centimètre, centimètres
        mm=un millimètre, millimètres|kg=un kilogramme, kilogrammes|mg=un milligramme, milligrammes
        °C=un degré Celsius, degrés Celsius
        """
    ),
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
    money=_nouns("€=un euro, euros|$=un dólar, dólares|£=una libra, libras, feminine"),
    units=_nouns(
        """
        km/h=un kilómetro por hora, kilómetros por hora|km=un kilómetro, kilómetros|cm=un centímetro, centímetros
        mm=un milímetro, milímetros|kg=un kilogramo, kilogramos|mg=un miligramo, miligramos
        °C=un grado Celsius, grados Celsius
        """
    ),
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
    money=_nouns("€=un euro, euro|$=un dollaro, dollari|£=una sterlina, sterline, feminine"),
    units=_nouns(
        """
        km/h=un chilometro all'ora, chilometri all'ora|km=un chilometro, chilometri|cm=un centimetro, centimetri
        mm=un millimetro, millimetri|kg=un chilogrammo, chilogrammi|mg=un milligrammo, milligrammi
        °C=un grado Celsius, gradi Celsius
        """
    ),
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
    money=_nouns("€=um euro, euros|R$=um real, reais|$=um dólar, dólares|£=uma libra, libras, feminine"),
    units=_nouns(
        """
        km/h=um quilômetro por hora, quilômetros por hora|km=um quilômetro, quilômetros
        cm=um centímetro, centímetros|mm=um milímetro, milímetros|kg=um quilograma, quilogramas
        mg=um miligrama, miligramas|°C=um grau Celsius, graus Celsius
        """
    ),
)
