"""Dates: March 4, 1984; 4 March 1984; 4th March; 2026-11-21; 21/11/2026; Dec. 25; and days that span a dash."""

from __future__ import annotations

import re

from reading.english.rule import DASH, END, LOOK_BACK, EnglishRule, before, rule
from reading.languages.tables import one_of, table, words
from reading.numbers.english_words import ordinal, year

MONTHS = words("January February March April May June July August September October November December")
SHORT_MONTHS = table(
    """
    Jan=January|Feb=February|Mar=March|Apr=April|Jun=June|Jul=July|Aug=August|Sep=September|Sept=September
    Oct=October|Nov=November|Dec=December
    """
)
SHORT_DAYS = table(
    """
    Mon=Monday|Tue=Tuesday|Tues=Tuesday|Wed=Wednesday|Thu=Thursday|Thur=Thursday|Thurs=Thursday|Fri=Friday
    Sat=Saturday|Sun=Sunday
    """
)
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SHORT_FIRST = "".join({name[0] for name in (*SHORT_MONTHS, *SHORT_DAYS)})

MONTH = rf"(?:{one_of(MONTHS)}|(?:{one_of(SHORT_MONTHS)})\.?)(?![a-z])"
_BEHIND_MONTH = re.compile(rf"\b{MONTH},?\s\Z")
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"


def _iso(match: re.Match[str]) -> str | None:
    return _full(int(match["year"]), int(match["month"]), int(match["day"]))


def _marked(match: re.Match[str]) -> str | None:
    """21/11/2026 is one date, 05/12/2026 is two: it stays."""
    first, second, number = int(match["first"]), int(match["second"]), int(match["year"])
    if match["mark"] == "." or first > 12:
        return _full(number, second, first, day_first=True)
    if second > 12 or first == second:
        return _full(number, first, second)
    return None


def _full(number: int, month: int, day: int, *, day_first: bool = False) -> str | None:
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS_OF_MONTH[month - 1]:
        return None
    name = MONTHS[month - 1]
    start = f"the {ordinal(day)} of {name}" if day_first else f"{name} {ordinal(day)},"
    return f"{start} {year(number)}"


def _behind_month(match: re.Match[str]) -> str | None:
    if not _BEHIND_MONTH.search(before(match)):
        return None
    days = ordinal(int(match["day"]))
    if match["last"]:
        days = f"{days} to {ordinal(int(match['last']))}"
    return f"{days}{match['gap']}{year(int(match['year']))}" if match["year"] else days


def _year_behind_month(match: re.Match[str]) -> str | None:
    return year(int(match["year"])) if _BEHIND_MONTH.search(before(match)) else None


def _before_month(match: re.Match[str]) -> str | None:
    has_article = re.search(r"\b[Tt]he\s\Z", before(match)[-LOOK_BACK:])
    article = "" if has_article else "the "
    first = f"{article}{ordinal(int(match['day']))}"
    if match["last"]:
        first = f"{first}{match['until']}the {ordinal(int(match['last']))}".replace("-", " to ").replace("–", " to ")
    return f"{first} of"


def _first_of_two(match: re.Match[str]) -> str | None:
    return f"the {ordinal(int(match['day']))}"


def _days(match: re.Match[str]) -> str | None:
    return f"{SHORT_DAYS[match['first']]} to {SHORT_DAYS[match['last']]}"


_DIGITS = "0123456789"
_SHORT_DAY = one_of(SHORT_DAYS)
_NAMED = rf"(?=\s{{1,3}}(?:of\s)?{MONTH})"
RULES: tuple[EnglishRule, ...] = (
    rule(_DIGITS, rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){END}", _iso),
    rule(_DIGITS, rf"(?P<first>\d{{1,2}})(?P<mark>[/.])(?P<second>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){END}", _marked),
    rule(
        _DIGITS,
        rf"(?P<day>{_DAY})(?:st|nd|rd|th)?(?:{DASH}(?P<last>{_DAY}))?(?:(?P<gap>,?\s{{1,3}})(?P<year>1\d{{3}}|20\d\d))?{END}",
        _behind_month,
    ),
    rule(_DIGITS, rf"(?P<year>1\d{{3}}|20\d\d){END}", _year_behind_month),
    rule(_DIGITS, rf"(?P<day>{_DAY})(?:(?P<until>{DASH})(?P<last>{_DAY}))?(?=\s{{1,3}}{MONTH})", _before_month),
    rule(_DIGITS, rf"(?P<day>{_DAY})(?=\s(?:to|and|or|until)\s{_DAY}{_NAMED})", _first_of_two),
    rule(_SHORT_FIRST, rf"(?P<name>{one_of(SHORT_MONTHS)})\.?(?=\s\d{{1,4}}(?!\d))", SHORT_MONTHS),
    rule(_SHORT_FIRST, rf"(?<=\d\s)(?P<name>{one_of(SHORT_MONTHS)})\.(?=[,\s])", SHORT_MONTHS),
    rule(_SHORT_FIRST, rf"(?P<first>{_SHORT_DAY})\.?{DASH}(?P<last>{_SHORT_DAY})\.?{END}", _days),
    rule(_SHORT_FIRST, rf"(?P<name>{one_of(SHORT_DAYS)})\.?(?=,\s(?:\d|{MONTH}))", SHORT_DAYS),
)
