"""Numbers that count or order: cardinals, decimals, ordinals, ranges, scores."""

from __future__ import annotations

import re
import unicodedata

from reading.english.rule import (
    DASH,
    END,
    ENDS_OR_OWNS,
    HYPHENATED,
    NUMBER,
    SIGN,
    SIGNED,
    EnglishRule,
    after,
    before,
    quantity,
    rule,
    with_sign,
)
from reading.numbers.english_words import digits, ordinal

_OPERATOR_BEFORE = re.compile(r"[=+×÷<>≤≥≠≈*/^√±]\s?\Z")
_OPERATOR_AFTER = re.compile(
    r"\s?[=+×÷<>≤≥≠≈*/^¥$€£%°#~\\|@]|\s(?!and/|or/)[A-Za-zµμ]{1,3}(?:/\w|[ ·]\w{1,3}⁻)|\s\d{3},\d"
)
_CALLED = re.compile(r"\b(?:[Dd]ial(?:led|ed)?|[Cc]all(?:ed)?|[Rr]ing|[Rr]ang|[Pp]hone)\s(?:\d{3},?\s(?:or|and)\s)?\Z")
_SECTION = re.compile(r"\b(?:[Tt]able|[Ff]igure|[Ff]ig\.|[Ss]ection|[Ee]xercise|[Pp]art|[Pp]late|[Cc]hapter)\s\Z")
_MOST_SCORED = 200
"""A larger number before a smaller one is no score of a game, but a code."""

_SCORED = re.compile(
    r"\b(?:won|wins?|lost|lose|beat|beaten|match|scored?|set|game|lead|led|victory|defeat(?:ed)?|final)\b|\d[-–]\d{1,2},\s\Z"
)
"""Nine to five are hours; six four is a set of tennis."""

_SCORE = re.compile(r"(\d{1,2})[-–](\d{1,2})")
_SETS_BEFORE = re.compile(r"(?:\b\d{1,2}[-–]\d{1,2},\s){1,4}(?:and\s)?\Z")
_SETS_AFTER = re.compile(r"(?:,\s(?:and\s)?\d{1,2}[-–]\d{1,2}\b){1,4}")

_SPECIAL = {"24/7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty-fifty"}


def _number(match: re.Match[str]) -> str | None:
    if _OPERATOR_BEFORE.search(before(match)) or _OPERATOR_AFTER.match(after(match)):
        return None
    if _is_sign(after(match).lstrip()[:1]):
        return None
    written = match["number"]
    if len(written) == 3 and _CALLED.search(before(match)) and written in ("911", "999", "112", "101"):
        return digits(written)
    if written == "0" and after(match)[:1] == "-":
        return None
    return with_sign(match, quantity(written))


def _is_sign(char: str) -> bool:
    """Of money or mathematics, and no rule knew it."""
    return bool(char) and unicodedata.category(char) in ("Sc", "Sm")


def _times(match: re.Match[str]) -> str | None:
    return f"{quantity(match['number'])} times" if re.match(r"\s[a-z]", after(match)) else None


def _plus(match: re.Match[str]) -> str | None:
    return f"{quantity(match['number'])} plus"


def _positive(match: re.Match[str]) -> str | None:
    return f"plus {quantity(match['number'])}"


def _range(match: re.Match[str]) -> str | None:
    first, last = match["first"], match["last"]
    if len(first) > 1 and first[0] == "0":
        return None
    from_number, to_number = (float(each.replace(",", "")) for each in (first, last))
    if from_number > to_number and (from_number > _MOST_SCORED or _SECTION.search(before(match))):
        return None
    is_score = first == last or _is_set(match) or (from_number > to_number and _SCORED.search(before(match)))
    joint = " " if is_score else " to "
    return f"{quantity(first)}{joint}{quantity(last)}"


def _is_set(match: re.Match[str]) -> bool:
    """One of several scores, of which one is lost: 6-4, 3-6."""
    scores = _SETS_BEFORE.search(before(match)), match, _SETS_AFTER.match(after(match))
    if scores[0] is None and scores[2] is None:
        return False
    pairs = [pair for score in scores if score for pair in _SCORE.findall(score.group())]
    return any(int(first) > int(last) for first, last in pairs) and all(int(first) <= 50 for first, _ in pairs)


def _three(match: re.Match[str]) -> str | None:
    return " ".join(quantity(part) for part in re.split(r"[-–]", match.group()))


def _one_in(match: re.Match[str]) -> str | None:
    return f"{quantity(match['first'])}-in-{quantity(match['last'])}"


def _ordinals(match: re.Match[str]) -> str | None:
    first = _ordinal(match["first"], match["end"])
    last = _ordinal(match["last"], match["last_end"]) if match["last"] else ""
    if first is None or last is None:
        return None
    return f"{first} to {last}" if last else first


def _ordinal(written: str, end: str) -> str | None:
    number = int(written.replace(",", ""))
    is_teen = number % 100 in (11, 12, 13)
    right = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return ordinal(number) if end == right or (end == "d" and right in ("nd", "rd")) else None


_DIGITS = "0123456789"
_WHOLE = r"\d{1,3}(?:,\d{3}){0,3}"
_END_OF_ORDINAL = r"(?:st|nd|rd|th|d)"
_SMALL = r"\d{1,2}"
RULES: tuple[EnglishRule, ...] = (
    rule(_DIGITS, rf"(?:24/7|9/11|50/50){END}", _SPECIAL),
    rule(
        _DIGITS,
        rf"(?P<first>{_WHOLE})(?P<end>{_END_OF_ORDINAL})(?:{DASH}(?P<last>{_WHOLE})(?P<last_end>{_END_OF_ORDINAL}))?"
        rf"(?:{HYPHENATED}|{ENDS_OR_OWNS})",
        _ordinals,
    ),
    rule(_DIGITS, rf"(?P<first>\d{{1,2}})-in-(?P<last>\d{{1,4}}){END}", _one_in),
    rule(_DIGITS, rf"{_SMALL}{DASH}{_SMALL}{DASH}{_SMALL}{END}", _three),
    rule(_DIGITS, rf"(?P<first>{NUMBER}){DASH}(?P<last>{NUMBER})(?:{HYPHENATED}|{END})", _range),
    rule(_DIGITS, rf"(?P<number>{NUMBER})[x×]{END}", _times),
    rule(_DIGITS, rf"(?P<number>{NUMBER})\+{END}", _plus),
    rule("+", rf"\+(?P<number>{NUMBER}){END}", _positive),
    rule(f".{SIGNED}{_DIGITS}", rf"{SIGN}(?P<number>{NUMBER})(?:{HYPHENATED}|{ENDS_OR_OWNS})", _number),
)
