"""What a rule is, and the parts that the patterns of several rules share.

A rule's pattern is tried where a word begins, and nothing but closing marks may follow what it takes: an item is read
as a whole or it stays. Every repetition in a pattern has a bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reading.numbers.english_words import cardinal, digits

Speak = Callable[[re.Match[str]], str | None]
"""The words for what was found; None where it has to stay as it is written."""

END = r"""(?=[.,;:!?)\]}"'”’»]{0,6}+(?:\s|—|–(?!\d)|--|…|[\[†‡*¹²³]|\Z))"""
"""Behind an item."""

ENDS_OR_OWNS = rf"(?:(?=['’]s\b)|{END})"
"""Behind an item that may have a genitive."""

HYPHENATED = r"(?=(?:-[A-Za-z]{1,20}){1,4}(?![\w-]))"
"""Before the rest of a compound: 10-year-old."""

_GROUPS = r"(?:[ \u00a0\u2009\u202f]\d{3}){1,4}"
_SPACED = rf"[1-9](?:\d?{_GROUPS}|\d\d{_GROUPS}(?:(?<=\D000)|(?=\s[a-z%€£$])))"
NUMBER = (
    rf"(?:{_SPACED}(?![\d,-]|[.\s]\d)|\d{{1,3}}(?:,\d{{3}}){{1,5}}(?:\.\d{{1,9}})?|"
    r"\d{1,18}(?:\.\d{1,9})?|\.\d{1,9})"
)
DASH = r"[-–]"
SIGNED = "-−±~≈≤≥<>"
SIGN = r"(?:(?P<sign>[-−]|[±~≈≤≥]\s?|[<>](?=[\d$£€])(?!\S{0,60}>)))?"
"""In front of an amount."""

MOST_DIGITS = 15
LOOK_BACK = 48

_SIGN_NAMES = {
    "": "",
    **dict.fromkeys("-−", "minus "),
    "±": "plus or minus ",
    **dict.fromkeys("~≈", "about "),
    "≤": "less than or equal to ",
    "≥": "greater than or equal to ",
    "<": "less than ",
    ">": "more than ",
}
_COMPARED = re.compile(r"(?:\A|[\s(\"“'‘])(?:[^\W\d_]{2,40}[,:;]?\s)?\Z")

_DETERMINER = re.compile(
    r"\b(?:an?|the|this|that|every|each|his|her|my|our|their|your|one|another)\s(?:\w{1,12}\s)?\Z", re.I
)
_NOUN = re.compile(
    r"\s(?!(?:and|or|of|in|for|to|on|at|a|an|the|per|each|that|which|who|he|she|it|they|we|you|is|was|"
    r"are|were|had|has|have|from|by|with|as|but|if|than|when|while|away|long|high|wide|deep|tall|old|"
    r"every|into|out|up|down|off|over|under|more|less|later|ago|before|after|above|below|worth|north|"
    r"south|east|west|today|now|then|thick|apart|behind|ahead|would|could|will|did|so|until|since)\b)[a-z]{2}"
)


@dataclass(frozen=True, slots=True)
class EnglishRule:
    """starts: characters with which an item may begin."""

    starts: str
    pattern: re.Pattern[str]
    speak: Speak


def rule(
    starts: str, pattern: str, said: Speak | Mapping[str, str] | str, flags: re.RegexFlag = re.NOFLAG
) -> EnglishRule:
    """said: a function, a table of words by the first group or the whole, or words as `re.Match.expand` takes them."""

    def speak(match: re.Match[str]) -> str | None:
        if isinstance(said, str):
            return match.expand(said)
        return said[match[min(1, match.re.groups)]] if isinstance(said, Mapping) else said(match)

    return EnglishRule(starts, re.compile(pattern, flags), said if callable(said) else speak)


def before(match: re.Match[str]) -> str:
    """The characters in front of an item, as many as a rule looks at."""
    return match.string[max(0, match.start() - LOOK_BACK) : match.start()]


def after(match: re.Match[str]) -> str:
    return match.string[match.end() : match.end() + LOOK_BACK]


def is_adjective(match: re.Match[str]) -> bool:
    """Whether an amount belongs to a noun after it: "a ten dollar bill"."""
    return after(match).startswith("-") or bool(_DETERMINER.search(before(match)) and _NOUN.match(after(match)))


def quantity(written: str) -> str:
    """A number with its thousands and decimals; digit by digit where it is a code."""
    whole, _, decimals = re.sub(r"[,\s]", "", written).partition(".")
    is_code = len(whole) > MOST_DIGITS or (len(whole) > 1 and whole[0] == "0")
    if not whole:
        return f"point {digits(decimals)}"
    words = digits(whole) if is_code else cardinal(int(whole))
    return f"{words} point {digits(decimals)}" if decimals else words


def with_sign(match: re.Match[str], amount: str) -> str | None:
    """None for a sign that compares the amount with what no rule reads."""
    sign = (match["sign"] or "").strip()
    if sign and sign in "≤≥<>" and not (_COMPARED.search(before(match)) and (sign in "≤≥" or before(match))):
        return None
    return f"{_SIGN_NAMES[sign]}{amount}"


def is_one(written: str) -> bool:
    return written == "1"
