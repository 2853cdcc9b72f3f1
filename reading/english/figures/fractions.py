"""Fractions: 1/2, 3 1/2, 2½, ⅝, alone, before a noun and in a compound. What may be a date or a price stays."""

from __future__ import annotations

import math
import re
import unicodedata

from reading.english.figures.angles import OPENED_DOUBLE
from reading.english.rule import END, HYPHENATED, EnglishRule, after, before, rule
from reading.numbers.english_words import cardinal, ordinal

SIGNS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_DENOMINATORS = frozenset((*range(2, 11), 12, 16, 20, 32, 64, 100))
_ARTICLE = re.compile(r"\b(?:[Aa]n?|[Tt]he|[Hh]is|[Hh]er|[Mm]y|[Ee]ach|[Ee]very)\s\Z")


def parts_of(sign: str) -> tuple[int, int]:
    """3 and 4 of ¾."""
    above, _, below = unicodedata.normalize("NFKC", sign).partition("\N{FRACTION SLASH}")
    return int(above), int(below)


def named(above: int, below: int, *, bare: bool = False) -> str:
    """bare: without "one", as behind an article."""
    unit = {2: "half", 4: "quarter"}.get(below) or ordinal(below)
    if above == 1:
        return unit if bare else f"one {unit}"
    return f"{cardinal(above)} {'halves' if below == 2 else unit + 's'}"


def mixed(whole: str, above: int, below: int) -> str:
    tail = named(above, below, bare=True)
    return f"{cardinal(int(whole))} and {'a ' if above == 1 else ''}{tail}"


def _fraction(match: re.Match[str]) -> str | None:
    above, below = parts_of(match["sign"]) if match["sign"] else (int(match["above"]), int(match["below"]))
    if below not in _DENOMINATORS or not 0 < above < below or math.gcd(above, below) > 1:
        return None
    if match["inch"]:
        return _with_mark(match, mixed(match["whole"], above, below) if match["whole"] else named(above, below))
    if match["whole"]:
        return mixed(match["whole"], above, below)
    if (above, below) == (1, 2) and re.match(r"\san?\b", after(match)):
        return "half"
    return named(above, below, bare=bool(_ARTICLE.search(before(match))))


def _with_mark(match: re.Match[str], words: str) -> str:
    """The mark behind is of inches, or closes a quotation."""
    return f"{words}{match['inch']}" if OPENED_DOUBLE.search(before(match)) else f"{words} inch"


def measured(match: re.Match[str], one: str, many: str) -> str | None:
    """2½ pounds, three quarters of a pound."""
    above, below = parts_of(match["sign"]) if match["sign"] else (int(match["above"]), int(match["below"]))
    if below not in _DENOMINATORS or not 0 < above < below or math.gcd(above, below) > 1:
        return None
    if match["whole"]:
        return f"{mixed(match['whole'], above, below)} {many}"
    article = "an" if one.startswith(("a", "e", "i", "o", "hour")) else "a"
    return f"half {article} {one}" if (above, below) == (1, 2) else f"{named(above, below)} of {article} {one}"


FRACTION = (
    rf"(?:(?P<whole>\d{{1,6}})(?:\s?(?=[{SIGNS}])|[\s-](?=\d{{1,2}}/)))?"
    rf"(?:(?P<sign>[{SIGNS}])|(?P<above>\d{{1,2}})/(?P<below>\d{{1,3}}))"
)
RULES: tuple[EnglishRule, ...] = (
    rule(f"{SIGNS}0123456789", rf"{FRACTION}(?:(?P<inch>[\"″])(?!\w)|{HYPHENATED}|{END})", _fraction),
)
