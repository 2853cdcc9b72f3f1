"""Capitals: acronyms by letter or as a word, initials with full stops, and what is only loud.

HE SHOUTED is read as words; F B I as letters. Capitals that no list knows stay unless a whole run of them is loud.
"""

from __future__ import annotations

import re

from reading.english.figures.roman import value_of
from reading.english.letters.acronym_lists import AS_WORD, BY_LETTER, SHOUTED
from reading.english.rule import END, EnglishRule, after, before, rule
from reading.languages.abbreviations import OPENERS
from reading.languages.tables import one_of

_CAPITAL_WORD = r"[A-Z](?:[A-Z'’]{0,30}[A-Z])?"
_LOUD_BEFORE = re.compile(rf"(?<![\w'’.])(?P<word>{_CAPITAL_WORD})[,;:!?—-]{{0,2}}['\"“‘]?\s[\"“‘]?\Z")
_LOUD_AFTER = re.compile(rf"(?:['’]S)?[,;:!?.—-]{{0,2}}['\"”’]?\s[\"“‘]?(?P<word>{_CAPITAL_WORD})(?![\w])")
_VOWEL = re.compile(r"[AEIOUY]")
_LISTED_AT = re.compile(r"(?:NYSE|NASDAQ|Nasdaq|AMEX|LSE):\s\Z")
_TRADED = re.compile(
    r"\s(?:rose|fell|gained|lost|jumped|slid|dropped|climbed|closed|traded|shares?|stock)\b[^.]{0,20}[\d$%]"
)
_ARTICLE_US = re.compile(r"\b(?:the|The)\s\Z")
_LEAST_LOUD = 5
"""Letters of a word that nobody would spell."""


def _capitals(match: re.Match[str]) -> str | None:
    word = match["word"]
    if _is_in_run(match):
        return _quiet(match)
    if word in BY_LETTER or (len(word) > 1 and not _VOWEL.search(word) and _is_short(word)):
        return _spelled(match, word)
    if _LISTED_AT.search(before(match)[-8:]) or (len(word) > 1 and _TRADED.match(after(match))):
        return _spelled(match, word)
    if word in AS_WORD:
        return word if match["plural"] else word.capitalize()
    if word == "US" and _ARTICLE_US.search(before(match)):
        return _spelled(match, word)
    if match["plural"] or (word not in SHOUTED and len(word) < _LEAST_LOUD):
        return None
    return _quiet(match)


def _is_short(word: str) -> bool:
    return len(word) <= 5 and not set(word) <= set("IVXLCDM")


def _is_in_run(match: re.Match[str]) -> bool:
    """Whether a neighbour is in capitals and no acronym, or both are one-letter words of a sentence in capitals."""
    behind = _LOUD_AFTER.match(match.string, match.end("word"))
    front = _LOUD_BEFORE.search(before(match))
    words = [found["word"] for found in (front, behind) if found]
    if match["word"] in BY_LETTER:
        return sum(_is_loud(word) for word in words) == 2
    return any(_is_loud(word) for word in words)


def _is_loud(word: str) -> bool:
    return word in SHOUTED - {"A"} or (
        len(word) >= _LEAST_LOUD - 1 and bool(_VOWEL.search(word)) and not (word in BY_LETTER or word in AS_WORD)
    )


def _quiet(match: re.Match[str]) -> str | None:
    """As it would stand in a sentence; the first word of one keeps its capital."""
    word = match["word"]
    if len(word) == 1 or match["plural"]:
        return "a" if word == "A" and _LOUD_BEFORE.search(before(match)) else None
    if value_of(word):
        return None
    is_first = word not in SHOUTED and _is_in_run(match)
    is_first = (
        is_first
        or not before(match).rstrip()
        or bool(re.search(r"(?:[.!?][\"”’]?|\n\s{0,8}\n|[:“\"])\s{0,8}[\"“‘]?\Z", before(match)))
    )
    return word.capitalize() if is_first else word.lower()


def _spelled(match: re.Match[str], word: str) -> str:
    return " ".join(word) + ("'s" if match["plural"] else "")


def _dotted(match: re.Match[str]) -> str | None:
    """U.S., R.A.F.; the initials of a name stay."""
    letters = [letter for letter in match.group() if letter.isalpha()]
    if "".join(letters) in ("eg", "ie"):
        return None
    if len(letters) == 2 and re.match(r"\.?\s[A-Z][a-z]", after(match)) and "".join(letters) not in ("US", "UK", "UN"):
        return None
    return " ".join(letter.upper() for letter in letters)


def _half_of_day(match: re.Match[str]) -> str | None:
    return f"{match['half'].upper()} M"


_DEGREES = {"PhD": "P h D", "Ph.D": "P h D", "BSc": "B S c", "MSc": "M S c"}
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_GOES_ON = r"(?:\.(?=\s{1,3}[a-z0-9(&§]|[,;:!?)’'”\"—–]))?"
_GOES_ON_BEHIND_LETTERS = rf"(?:\.(?=\s{{1,3}}(?:[a-z0-9(&§]|(?!(?:{one_of(OPENERS)})\b)[A-Z])|[,;:!?)’'”\"—–]))?"
RULES: tuple[EnglishRule, ...] = (
    rule("PBM", rf"(?P<short>PhD|Ph\.D|BSc|MSc)(?:(?<=h\.D){_GOES_ON}|(?<!h\.D)){END}", _DEGREES),
    rule("ap", rf"(?P<half>[ap])\.m(?=\.){_GOES_ON}{END}", _half_of_day),
    rule(_UPPER, rf"(?:[A-Z]\.){{1,5}}[A-Z](?=\.){_GOES_ON_BEHIND_LETTERS}{END}", _dotted),
    rule(_UPPER, rf"(?P<word>[A-Z][A-Z]{{0,30}})(?P<plural>s)?(?=['’]s\b|['’]S\b|{END[3:]}", _capitals),
)
