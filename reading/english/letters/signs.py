"""Signs that stand for a word: & @ # § ¶ © ♭, moves of chess, and trade marks, which are not spoken."""

from __future__ import annotations

import re

from reading.english.figures.roman import value_of
from reading.english.rule import DASH, END, ENDS_OR_OWNS, NUMBER, EnglishRule, after, before, quantity, rule
from reading.numbers.english_words import cardinal, paired, year

_NAMES = {"§": "section", "§§": "sections", "¶": "paragraph", "¶¶": "paragraphs", "#": "number", "№": "number"}
_PARTS = r"(?P<parts>(?:\((?:[A-Za-z]|\d{1,2}|[ivx]{2,5})\)){1,5})"
_PART = re.compile(r"[A-Za-z\d]{1,5}")
_ACCIDENTALS = {"♭": "flat", "♯": "sharp", "#": "sharp", "♮": "natural", "♭♭": "double flat"}
_PIECES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight"}
_CHECKS = {None: "", "+": " check", "#": " mate"}
_OPERATOR_BESIDE = re.compile(r"[=+×÷<>≤≥≠≈*/^√±−-]")


def _and(match: re.Match[str]) -> str | None:
    return "and" if re.search(r"[\w%)\]]['’.,]{0,2}\s\Z", before(match)) and re.match(r"\s\w", after(match)) else None


def _letters(match: re.Match[str]) -> str | None:
    return f"{' '.join(match['left'])} and {' '.join(match['right'])}"


def _numbered(match: re.Match[str]) -> str | None:
    is_law = "§" in match["sign"] or match["parts"]
    words = f"{_NAMES[match['sign']]} {_said(match['number'], match['parts']) if is_law else quantity(match['number'])}"
    return f"{words} to {quantity(match['last'])}" if match["last"] else words


def _subdivided(match: re.Match[str]) -> str | None:
    """A number of the law with its parts: Rule 12(b)(6)."""
    return _said(match["number"], match["parts"])


def _said(number: str, parts: str | None) -> str:
    words = paired(int(number)) if number.isdecimal() and number[0] != "0" else quantity(number)
    return " ".join((words, *map(_part, _PART.findall(parts or ""))))


def _part(written: str) -> str:
    if written.isdecimal():
        return cardinal(int(written))
    return cardinal(value_of(written) or 0) if len(written) > 1 and value_of(written) else " ".join(written.upper())


def _accidental(match: re.Match[str]) -> str | None:
    chord = {None: "", "m": " minor", "7": " seven", "m7": " minor seven"}[match["chord"]]
    return f"{match['note']} {_ACCIDENTALS[match['sign']]}{chord}"


def _square(match: re.Match[str]) -> str | None:
    """Of a chessboard, and the move to it."""
    if _OPERATOR_BESIDE.search(f"{before(match)[-2:]}|{after(match)[:2]}"):
        return None
    start, (file, rank) = match["start"] or match["pawn"] or "", match["square"]
    said = (_PIECES.get(match["piece"]), start if start.isalpha() or not start else cardinal(int(start)))
    words = " ".join((*filter(None, said), *(["takes"] if match["takes"] else []), file, cardinal(int(rank))))
    return f"{words}{_CHECKS[match['check']]}"


def _copyright(match: re.Match[str]) -> str | None:
    return f"copyright {year(int(match['year']))}" if match["year"] else "copyright"


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RULES: tuple[EnglishRule, ...] = (
    rule("&", r"&c\.?(?=[\s,;:)]|\Z)", "et cetera"),
    rule("&", r"&(?=\s)", _and),
    rule(_UPPER, rf"(?P<left>[A-Z]{{1,3}})&(?P<right>[A-Z]{{1,3}})(?:(?=['’]s\b)|{END})", _letters),
    rule("@", r"@(?=\s(?:[a-z\d$£€]))", "at"),
    rule(
        "§¶#№", rf"(?P<sign>§§|¶¶|[§¶#№])\s?(?P<number>{NUMBER})(?:{_PARTS}|{DASH}(?P<last>{NUMBER}))?{END}", _numbered
    ),
    rule("0123456789", rf"(?P<number>\d{{1,4}}){_PARTS}{END}", _subdivided),
    rule("ABCDEFG", rf"(?P<note>[A-G])(?P<sign>♭♭|[♭♯♮#])(?P<chord>m7|m|7)?(?:(?=-[a-z])|{ENDS_OR_OWNS})", _accidental),
    rule("C", rf"C\+\+{ENDS_OR_OWNS}", "C plus plus"),
    rule(
        "KQRBNabcdefgh",
        rf"(?:(?P<piece>[KQRBN])(?P<start>[a-h1-8](?=x?[a-h]))?|(?P<pawn>[a-h])(?=x))?(?P<takes>x)?"
        rf"(?P<square>[a-h][1-8])(?P<check>[+#])?{END}",
        _square,
    ),
    rule("#", rf"#(?P<word>[A-Za-z]{{2,30}}){END}", r"hashtag \g<word>"),
    rule("©", r"©(?:\s?(?P<year>1[5-9]\d\d|20\d\d))?(?=[\s,.]|\Z)", _copyright),
    rule(f"{_UPPER}{_UPPER.lower()}", rf"(?P<name>[A-Za-z]{{1,40}})[™®]{END}", r"\g<name>"),
)
