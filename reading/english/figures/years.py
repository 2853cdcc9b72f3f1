"""Years and decades: 1984, 1914-18, the 1980s, the '60s. Four digits are a year unless they count something."""

from __future__ import annotations

import re

from reading.english.figures.calendar import MONTH
from reading.english.rule import DASH, END, ENDS_OR_OWNS, HYPHENATED, EnglishRule, after, before, rule
from reading.numbers.english_words import TENS, cardinal, year

_CUE = re.compile(
    r"\b(?:in|since|by|from|until|till|year|circa|before|after|around|about|during|then|late|early|spring|summer|autumn|"
    r"fall|winter|and|of|A\.?D\.?|©|class of)\s\(?\Z",
    re.IGNORECASE,
)
_SURE_CUE = re.compile(r"\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Dd]uring|year|years)\s\Z")
_RANGE_CUE = re.compile(r"\b(?:[Ff]rom|[Bb]etween)\s1\d{3}\s(?:to|and|until)\s\Z")
_COUNTED = re.compile(
    r"\s(?:of\b|(?:men|women|people|children|feet|miles|horse|foot|infantry|cattle|sheep|souls|different|other|more|"
    r"such|million|billion|thousand|hundred)\b|(?!(?:\w{0,12}(?:us|ss|is|as)|does|goes|comes|sees)\b)[a-z]{3,16}s\b)"
)
_SHORT_CUE = re.compile(
    r"(?:\b(?:in|since|of|and|to|from|until|by|early|late|spring|summer|autumn|fall|winter|year|years|class|back in)|"
    rf"\b{MONTH},?)\s\Z",
    re.IGNORECASE,
)
_PREFIX = r"(?:[Mm]id|[Pp]re|[Pp]ost|[Ll]ate|[Ee]arly)"
_YEAR = r"(?:1\d{3}|20\d\d)"


def _single(match: re.Match[str]) -> str | None:
    number, front, behind = int(match["year"]), before(match), after(match)
    if _SURE_CUE.search(front) or _RANGE_CUE.search(front):
        return year(number)
    if _COUNTED.match(behind) or front.endswith(("+ ", "= ", "- ", "× ")):
        return None
    if number < 1100:
        return year(number) if _CUE.search(front) else None
    return year(number)


def _short(match: re.Match[str]) -> str | None:
    """'85, and not the first word of a quotation: 'Ninety men came.'"""
    has_article = re.search(r"\b[Tt]h(?:e|at)\s\Z", before(match)) and not re.search(r"['’](?!\w)", after(match))
    if not (has_article or _SHORT_CUE.search(before(match))) or after(match).startswith(("'", "’")):
        return None
    number = int(match["year"])
    return cardinal(number) if number > 9 else f"oh {cardinal(number)}"


def _span(match: re.Match[str]) -> str | None:
    first, last = int(match["first"]), match["last"]
    full = int(last) if len(last) == 4 else int(match["first"][: 4 - len(last)] + last)
    if full <= first or _COUNTED.match(after(match)):
        return None
    return f"{year(first)} to {year(full) if len(last) == 4 else cardinal(int(last))}"


def _prefixed(match: re.Match[str]) -> str | None:
    return f"{match['prefix']}-{_decade(match['year']) if match['plural'] else year(int(match['year']))}"


def _decades(match: re.Match[str]) -> str | None:
    first = _decade(match["first"])
    last = _decade(match["last"]) if match["last"] else ""
    if first is None or last is None:
        return None
    return f"{first} to {last}" if last else first


def _decade(written: str) -> str | None:
    number = int(written)
    if len(written) == 2:
        return _plural(TENS[number // 10 - 2]) if number >= 20 and number % 10 == 0 else None
    if number % 10 or not 1010 <= number <= 2090:
        return None
    return _plural(year(number))


def _plural(words: str) -> str:
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


_DIGITS = "0123456789"
_DECADE = r"['’‘]?(?P<{}>\d{{4}}|\d0)['’]?s"
RULES: tuple[EnglishRule, ...] = (
    rule(
        f"'’‘{_DIGITS}",
        rf"{_DECADE.format('first')}(?:{DASH}{_DECADE.format('last')})?(?:(?=-[a-z])|{ENDS_OR_OWNS})",
        _decades,
    ),
    rule("'’‘", rf"['’‘](?P<year>\d\d){END}", _short),
    rule(_DIGITS, rf"(?P<first>1[1-9]\d\d|20\d\d){DASH}(?P<last>{_YEAR}|\d\d){END}", _span),
    rule(_DIGITS, rf"(?P<year>{_YEAR})(?:{HYPHENATED}|{ENDS_OR_OWNS})", _single),
    rule(
        "MmPpLlEe",
        rf"(?P<prefix>{_PREFIX})-(?P<year>1[1-9]\d\d|20\d\d|[2-9]0(?=s))(?P<plural>s)?{ENDS_OR_OWNS}",
        _prefixed,
    ),
)
