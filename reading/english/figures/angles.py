"""Feet and inches, and degrees with minutes: 5'11", 6' tall, 8" nails, 40°42'46" N. Closing quotes are none."""

from __future__ import annotations

import re

from reading.english.rule import NUMBER, EnglishRule, after, before, is_adjective, quantity, rule
from reading.numbers.english_words import cardinal

OPENED_DOUBLE = re.compile(r'(?:^|\s)["“][^"“”]{0,48}\Z')
_OPENED_SINGLE = re.compile(r"(?:^|\s)['‘][^'‘’]{0,48}\Z")
_SIZE = re.compile(r"\s(?:tall|high|long|wide|deep|thick|by|x|×|in|of|and|or)\b|-|[,;.]?\Z|[,;.]\s")
_POINTS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def _feet_and_inches(match: re.Match[str]) -> str | None:
    if int(match["inches"]) > 11:
        return None
    return f"{cardinal(int(match['feet']))} foot {cardinal(int(match['inches']))}"


def _feet(match: re.Match[str]) -> str | None:
    if _OPENED_SINGLE.search(before(match)) or not _SIZE.match(after(match)):
        return None
    one_only = match["number"] == "1" or is_adjective(match)
    return f"{quantity(match['number'])} {'foot' if one_only else 'feet'}"


def _inches(match: re.Match[str]) -> str | None:
    if OPENED_DOUBLE.search(before(match)) or not re.match(r"\s[a-z]|-|[,;.]?\Z", after(match)):
        return None
    one_only = match["number"] == "1" or re.match(r"\s[a-z]{4}", after(match)) is not None
    return f"{quantity(match['number'])} {'inch' if one_only else 'inches'}"


def _position(match: re.Match[str]) -> str | None:
    parts = [_many(match["degrees"], "degree"), _many(match["minutes"], "minute")]
    if match["seconds"]:
        parts.append(_many(match["seconds"], "second"))
    if match["point"]:
        parts.append(_POINTS[match["point"]])
    return " ".join(parts)


def _compass(match: re.Match[str]) -> str | None:
    return f"{_many(match['degrees'], 'degree')} {_POINTS[match['point']]}"


def _many(written: str, name: str) -> str:
    return f"{quantity(written)} {name}{'' if written == '1' else 's'}"


_DIGITS = "0123456789"
_FOOT = "['’′]"
_INCH = "(?:[\"”″]|''|’’|′′)"
_POINT = r"(?:\s?(?P<point>[NSEW])(?!\w))"
RULES: tuple[EnglishRule, ...] = (
    rule(
        _DIGITS,
        rf"(?P<degrees>\d{{1,3}})°\s?(?P<minutes>\d{{1,2}}){_FOOT}(?:\s?(?P<seconds>\d{{1,2}}(?:\.\d{{1,3}})?)"
        rf"{_INCH})?{_POINT}?",
        _position,
    ),
    rule(_DIGITS, rf"(?P<degrees>{NUMBER})°{_POINT}", _compass),
    rule(_DIGITS, rf"(?P<feet>\d{{1,2}}){_FOOT}\s?(?P<inches>\d{{1,2}}){_INCH}(?!\w)", _feet_and_inches),
    rule(_DIGITS, rf"(?P<number>{NUMBER})['′](?!\w)", _feet),
    rule(_DIGITS, rf"(?P<number>{NUMBER})[\"″](?!\w)", _inches),
)
