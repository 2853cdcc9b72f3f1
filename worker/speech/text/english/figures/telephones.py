"""Telephone numbers, digit by digit in the groups in which they are written."""

from __future__ import annotations

import re

from worker.speech.text.english.rule import END, Rule, rule
from worker.speech.text.numbers.english_words import digits

_GROUP = re.compile(r"\d{1,8}")


def _groups(match: re.Match[str]) -> str | None:
    return ", ".join(digits(group) for group in _GROUP.findall(match.group()))


def _international(match: re.Match[str]) -> str | None:
    return f"plus {_groups(match)}"


_DIGITS = "0123456789"
_AREA = r"(?:\(\d{3}\)\s?|\d{3}[-\s])"
RULES: tuple[Rule, ...] = (
    rule("+", rf"\+\d{{1,3}}(?:[ .-]\(?\d{{2,4}}\)?){{2,4}}{END}", _international),
    rule(f"({_DIGITS}", rf"(?:1[-\s])?{_AREA}?\d{{3}}-\d{{4}}{END}", _groups),
    rule(_DIGITS, rf"\d{{3}}\.\d{{3}}\.\d{{4}}{END}", _groups),
    rule(f"({_DIGITS}", rf"(?:\(0\d{{2,4}}\)|0\d{{2,4}})\s\d{{3,4}}\s\d{{3,4}}{END}", _groups),
)
