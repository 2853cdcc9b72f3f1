"""Signs that stand for a word: & @ # § ¶ ©, and marks of trade that nobody says."""

from __future__ import annotations

import re

from reading.english.rule import END, NUMBER, EnglishRule, after, before, quantity, rule
from reading.numbers.english_words import year

_NAMES = {"§": "section", "§§": "sections", "¶": "paragraph", "#": "number", "№": "number"}


def _and(match: re.Match[str]) -> str | None:
    return "and" if re.search(r"[\w%)\]]['’.,]{0,2}\s\Z", before(match)) and re.match(r"\s\w", after(match)) else None


def _letters(match: re.Match[str]) -> str | None:
    return f"{' '.join(match['left'])} and {' '.join(match['right'])}"


def _and_so_on(match: re.Match[str]) -> str | None:
    return "et cetera"


def _at(match: re.Match[str]) -> str | None:
    return "at"


def _numbered(match: re.Match[str]) -> str | None:
    return f"{_NAMES[match['sign']]} {quantity(match['number'])}"


def _hashtag(match: re.Match[str]) -> str | None:
    return f"hashtag {match['word']}"


def _copyright(match: re.Match[str]) -> str | None:
    return f"copyright {year(int(match['year']))}" if match["year"] else "copyright"


def _without_mark(match: re.Match[str]) -> str | None:
    return match["name"]


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RULES: tuple[EnglishRule, ...] = (
    rule("&", r"&c\.?(?=[\s,;:)]|\Z)", _and_so_on),
    rule("&", r"&(?=\s)", _and),
    rule(_UPPER, rf"(?P<left>[A-Z]{{1,3}})&(?P<right>[A-Z]{{1,3}})(?:(?=['’]s\b)|{END})", _letters),
    rule("@", r"@(?=\s(?:[a-z\d$£€]))", _at),
    rule("§¶#№", rf"(?P<sign>§§|[§¶#№])\s?(?P<number>{NUMBER}){END}", _numbered),
    rule("#", rf"#(?P<word>[A-Za-z]{{2,30}}){END}", _hashtag),
    rule("©", r"©(?:\s?(?P<year>1[5-9]\d\d|20\d\d))?(?=[\s,.]|\Z)", _copyright),
    rule(f"{_UPPER}{_UPPER.lower()}", rf"(?P<name>[A-Za-z]{{1,40}})[™®]{END}", _without_mark),
)
