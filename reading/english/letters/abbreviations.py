"""Abbreviations by what stands around them: Mr. Smith, Baker St., St. Paul's, No. 5, e.g., etc."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reading.english.letters.abbreviation_lists import (
    BEFORE_OF,
    BEHIND_NAMES,
    COUNTED,
    DIVISIONS,
    DOTLESS,
    ENDING,
    PHRASES,
    TITLES,
)
from reading.english.rule import END, EnglishRule, after, before, rule
from reading.languages.tables import one_of

_NAME_BEFORE = re.compile(r"(?:[A-Z][a-z’'-]{1,20}|\d(?:st|nd|rd|th)|&),?\s\Z")
_NO_NAME_BEFORE = re.compile(
    rf"(?:^|[\s\"“‘(])(?:The|In|At|Old|Near|From|To|Of|And|But|Is|Was|By|On|For|With|When|Then|That|Our|His|Her|My|Saint|"
    rf"{one_of(TITLES)}|{one_of(TITLES.values())})\.?\s\Z"
)
_LOWER_BEHIND = re.compile(r"[,;:!?)’'”\"]|\s{1,3}(?:[a-z(]|&\s)|\.?\s{0,8}\Z|—")


def _titled(match: re.Match[str]) -> str | None:
    short = match["short"]
    return TITLES[short.capitalize()]


def _saint(match: re.Match[str]) -> str | None:
    front = before(match)
    if _NAME_BEFORE.search(front) and not _NO_NAME_BEFORE.search(front):
        return None
    return "Saint"


def _behind_name(match: re.Match[str]) -> str | None:
    front = before(match)
    if not _NAME_BEFORE.search(front) or _NO_NAME_BEFORE.search(front) or not _LOWER_BEHIND.match(after(match)):
        return None
    return BEHIND_NAMES[match["short"]]


def _established(match: re.Match[str]) -> str | None:
    return "established" if match["year"] else "estimated"


def _firsts(words: Iterable[str]) -> str:
    return "".join({word[0] for word in words})


_UPPER_TITLES = tuple(title.upper() for title in TITLES)
_NAME = r"(?=\s{1,3}(?:(?:and|&)\s(?:Mrs?|Ms|Dr|Miss|MRS?)\b|[A-Z]|de\s|von\s|van\s|d’|d'))"
_GOES_ON = r"(?:\.(?=\s{1,3}[a-z0-9(&$£€]|[,;:!?)’'”\"—–]))?"
"""A full stop that ends no sentence goes with its abbreviation."""

RULES: tuple[EnglishRule, ...] = (
    rule(_firsts(TITLES), rf"(?P<short>{one_of((*TITLES, *_UPPER_TITLES))})\.{_NAME}", _titled),
    rule("MDP", rf"(?P<short>{one_of(DOTLESS)}){_NAME}", _titled),
    rule("S", r"(?P<short>S[tT])\.?(?=\s{1,3}[A-Z][a-zA-Z])", _saint),
    rule(
        _firsts(COUNTED),
        rf"(?P<short>{one_of(COUNTED)})\.(?=\s{{0,3}}(?:\d{{1,9}}[A-Z]?(?![\dA-Za-z])|[IVXL]{{2,8}}\b|(?<=p\.)\s?[ivxl]{{1,8}}\b|(?<=p\.\s)[ivxl]{{1,8}}\b))",
        COUNTED,
    ),
    rule(_firsts(DIVISIONS), rf"(?P<short>{one_of(DIVISIONS)})\.(?=\s{{0,3}}[IVXLC]\b)", COUNTED),
    rule("e", r"est\.(?=\s(?:(?P<year>(?:1\d{3}|20\d\d)\b)|\d))", _established),
    rule("c", r"(?P<short>c)\.(?=\s?\d{3,4}(?!\d))", "circa"),
    rule("e", r"(?P<short>ext)(?=\s\d)", COUNTED),
    rule(_firsts(ENDING), rf"(?P<short>{one_of(ENDING)})(?=\.){_GOES_ON}{END}", ENDING),
    rule(_firsts(PHRASES), rf"(?P<short>{one_of(PHRASES)})\.(?=[\s,:;]|\Z)", PHRASES),
    rule("v", r"(?P<short>vs)(?=\s)", PHRASES),
    rule("Dd" + _firsts(BEFORE_OF), rf"(?P<short>{one_of(BEFORE_OF)})\.(?=\sof\b)", BEFORE_OF),
    rule(_firsts(BEHIND_NAMES), rf"(?P<short>{one_of(BEHIND_NAMES)})(?=\.){_GOES_ON}(?!\w)", _behind_name),
)
