"""Pounds, shillings and pence before 1971: £3 6s. 4d., 10s. 6d., 3½d."""

from __future__ import annotations

import re

from reading.english.figures.fractions import SIGNS, named, parts_of
from reading.english.rule import EnglishRule, after, before, is_one, quantity, rule
from reading.numbers.english_words import cardinal

_NO_SHILLINGS = re.compile(r"\b(?:[Tt]he|[Hh]is|[Hh]er|[Tt]heir|[Mm]y|[Ll]ate|[Ee]arly|[Ii]n|[Tt]ook|[Ff]or)\s\Z")
"""The 10s., and what took 5 s."""

_MONEY_BESIDE = re.compile(r"\d/-|\b\d{1,2}d\b|\b\d{1,2}s\.|\b(?:shillings?|pence|guineas?)\b")


def _amount(match: re.Match[str]) -> str | None:
    parts = [*_pounds(match["pounds"]), *_shillings(match["shillings"]), *_pence(match["pence"], match["part"])]
    if len(parts) < 2:
        return parts[0] if parts else None
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _alone(match: re.Match[str]) -> str | None:
    if match["shillings"] and _NO_SHILLINGS.search(before(match)):
        return None
    return _amount(match)


def _stroke(match: re.Match[str]) -> str | None:
    """2/6 is a fraction or a day where nothing beside it is money."""
    return _amount(match) if _MONEY_BESIDE.search(before(match) + after(match)) else None


def _pounds(written: str | None) -> list[str]:
    return [f"{quantity(written)} {'pound' if is_one(written) else 'pounds'}"] if written else []


def _shillings(written: str | None) -> list[str]:
    if not written or int(written) == 0:
        return []
    return [f"{cardinal(int(written))} {'shilling' if is_one(written) else 'shillings'}"]


def _pence(written: str | None, part: str | None) -> list[str]:
    if not written:
        return []
    if part:
        above, below = parts_of(part)
        tail = "a half" if (above, below) == (1, 2) else named(above, below, bare=above > 1)
        return [f"{cardinal(int(written))} and {tail.replace('one ', 'a ')} pence"]
    return [f"{cardinal(int(written))} {'penny' if is_one(written) else 'pence'}"] if int(written) else []


_DIGITS = "0123456789"
_POUNDS = r"£(?P<pounds>\d{1,3}(?:,\d{3}){0,4}|\d{1,9})"
_SHILLINGS = r"(?P<shillings>\d{1,3})\s?s"
_PENCE = rf"(?P<pence>1[01]|\d)\s?(?P<part>[{SIGNS}])?\s?d"
_GOES_ON = r"(?:\.(?=\s{1,3}[a-z0-9(]|[,;:!?)—–]))?"
RULES: tuple[EnglishRule, ...] = (
    rule("£", rf"{_POUNDS},?\s{_SHILLINGS}\.?,?\s{_PENCE}{_GOES_ON}(?!\w)", _amount),
    rule("£", rf"{_POUNDS},?\s(?P<shillings>1?\d)s(?P<pence>(?!))?(?P<part>(?!))?{_GOES_ON}(?!\w)", _amount),
    rule(_DIGITS, rf"(?P<pounds>(?!))?{_SHILLINGS}\.?,?\s{_PENCE}{_GOES_ON}(?!\w)", _amount),
    rule(_DIGITS, rf"(?P<pounds>(?!))?{_SHILLINGS}\.(?=\s{{1,3}}[a-z(]|[,;:])(?P<pence>(?!))?(?P<part>(?!))?", _alone),
    rule(_DIGITS, r"(?<=pounds\s)(?P<pounds>(?!))?(?P<shillings>1?\d)s(?=\.)(?P<pence>(?!))?(?P<part>(?!))?", _amount),
    rule(_DIGITS, r"(?P<pounds>(?!))?(?P<shillings>\d{1,3})/-(?P<pence>(?!))?(?P<part>(?!))?(?![\w-])", _amount),
    rule(_DIGITS, rf"(?P<pounds>(?!))?(?P<shillings>1?\d)/(?P<pence>1[01]|\d)(?P<part>[{SIGNS}])?(?![\w/])", _stroke),
    rule(_DIGITS, rf"(?P<pounds>(?!))?(?P<shillings>(?!))?{_PENCE}(?=\.){_GOES_ON}(?!\w)", _alone),
)
