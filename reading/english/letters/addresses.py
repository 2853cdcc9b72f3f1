"""E-mail addresses, web addresses and handles, in full: what has a part that nobody could say stays."""

from __future__ import annotations

import re

from reading.english.rule import EnglishRule, rule
from reading.languages.tables import table
from reading.numbers.english_words import cardinal, digits

_MARKS = {"=": "equals"} | table(
    """
    .=dot|/=slash|-=dash|_=underscore|?=question mark|&=and|#=hash|@=at|~=tilde|+=plus|:=colon
    """
)
_PIECE = re.compile(r"[A-Za-z]{1,40}|\d{1,12}|.")
_SPELLED_PIECES = frozenset(
    ("www", "uk", "io", "id", "de", "fr", "eu", "ca", "au", "nz", "tv", "ie", "jp", "html", "php", "pdf")
)
_MOST_CHARS = 120


def _address(match: re.Match[str]) -> str | None:
    written = match["rest"].rstrip("/")
    if len(written) > _MOST_CHARS:
        return None
    pieces = [_piece(piece) for piece in _PIECE.findall(written)]
    return " ".join(piece for piece in pieces if piece) if all(pieces) else None


def _piece(piece: str) -> str | None:
    """None for a sign that has no name here."""
    if piece.isascii() and piece.isdigit():
        return cardinal(int(piece)) if len(piece) < 3 and piece[0] != "0" else digits(piece)
    if piece.isascii() and piece.isalpha():
        if piece.lower() in _SPELLED_PIECES:
            return " ".join(piece.upper())
        return (
            piece.lower() if re.search("[aeiouy]", piece, re.IGNORECASE) or len(piece) == 1 else " ".join(piece.upper())
        )
    return _MARKS.get(piece)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LABELS = r"(?:[A-Za-z0-9-]{1,63}\.){1,5}"
_TLDS = "com|org|net|edu|gov|mil|info|int|io|uk|de|fr|eu|dev|app|ai|tv|ca|au|nz|ie|us"
_STOPS = r"(?<![.,;:!?)'])(?=[.,;:!?)\]}\"'”’]{0,6}+(?:\s|—|–|…|\Z))"
"""The marks of the sentence are no part of an address."""

_LAZY_PATH = r"(?::\d{2,5})?(?:[/?#](?:[\w.,~%&=+@:/?#!$'()*;-]{0,200}[\w/~%&=+#$*-])?)?"
RULES: tuple[EnglishRule, ...] = (
    rule(_LETTERS, rf"(?P<rest>[\w.+-]{{1,64}}@{_LABELS}[A-Za-z]{{2,24}}){_STOPS}", _address, re.ASCII),
    rule("hH", rf"[Hh][Tt][Tt][Pp][Ss]?://(?P<rest>{_LABELS}[A-Za-z]{{2,24}}{_LAZY_PATH}){_STOPS}", _address, re.ASCII),
    rule("wW", rf"(?P<rest>[Ww]{{3}}\.{_LABELS}[A-Za-z]{{2,24}}{_LAZY_PATH}){_STOPS}", _address, re.ASCII),
    rule(_LETTERS, rf"(?P<rest>{_LABELS}(?:{_TLDS})(?:/(?:[\w./-]{{0,200}}[\w/-])?)?){_STOPS}", _address, re.ASCII),
    rule("@", rf"(?P<rest>@[A-Za-z]\w{{1,30}}){_STOPS}", _address, re.ASCII),
)
