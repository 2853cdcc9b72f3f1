"""Telephone numbers, digit by digit in the groups in which they are written."""

from __future__ import annotations

import re

from reading.english.rule import END, EnglishRule, rule
from reading.numbers.english_words import digits

_GROUP = re.compile(r"\d{1,8}")


def _groups(match: re.Match[str]) -> str | None:
    return ", ".join(digits(group) for group in _GROUP.findall(match.group()))


def _american(match: re.Match[str]) -> str | None:
    """1-800 is said as a name."""
    code = int(match["code"])
    area = f"{digits(match['code'][0])} hundred" if code % 100 == 0 else digits(match["code"])
    return f"one, {area}, {', '.join(digits(group) for group in _GROUP.findall(match['rest']))}"


def _international(match: re.Match[str]) -> str | None:
    return f"plus {_groups(match)}"


_DIGITS = "0123456789"
_AREA = r"(?:\(\d{3}\)\s?|\d{3}[-\s])"
RULES: tuple[EnglishRule, ...] = (
    rule("+", rf"\+\d{{1,3}}(?:[ .-]\(?\d{{2,4}}\)?){{2,4}}{END}", _international),
    rule("1", rf"1[-\s](?P<code>[2-9]\d\d)[-\s](?P<rest>\d{{3}}-\d{{4}}){END}", _american),
    rule("0", rf"0\d{{3,4}}\s\d{{5,6}}{END}", _groups),
    rule(f"({_DIGITS}", rf"(?:1[-\s])?{_AREA}?\d{{3}}-\d{{4}}{END}", _groups),
    rule(_DIGITS, rf"\d{{3}}\.\d{{3}}\.\d{{4}}{END}", _groups),
    rule(f"({_DIGITS}", rf"(?:\(0\d{{2,4}}\)|0\d{{2,4}})\s\d{{3,4}}\s\d{{3,4}}{END}", _groups),
)
