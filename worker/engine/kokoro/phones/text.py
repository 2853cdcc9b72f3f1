"""A text in Kokoro's alphabet: its words as phones, and the signs that the model reads as pauses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from worker.engine.kokoro.phones.dictionary import Accent, ways_of
from worker.engine.kokoro.phones.unknown_words import MOST_LETTERS, PRIMARY, SECONDARY, VOWELS
from worker.engine.kokoro.phones.words import guessed_stem, phones_of_word

_LETTER = r"[^\W\d_][\u0300-\u036f]{0,3}+"
_PART = rf"(?:{_LETTER}){{1,{MOST_LETTERS}}}+(?:['’](?:{_LETTER}){{1,8}}+){{0,2}}+['’]?"
_TOKEN = re.compile(rf"['‘’]?(?P<word>{_PART}(?:-{_PART}){{0,4}}+)|(?P<digit>\d)|[–—―]|-{{2,9}}+|\.{{3,9}}|\S")
_STOPS = frozenset(";:,.!?—…")
_KEPT = "(“)”"
_BRACKETS = str.maketrans("[{«]}»", "((“))”")
_SPOKEN = {"&": "and", "%": "percent", "+": "plus", "@": "at", "=": "equals", "°": "degrees"}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class _Token(NamedTuple):
    """written: a word, or the sign that stands for it in Kokoro's alphabet. is_apart: something stands before it."""

    start: int
    written: str
    is_word: bool
    is_apart: bool


def phones_of(text: str, accent: Accent) -> str:
    """In Kokoro's alphabet, pauses and stress marks among them; "" if nothing can be spoken.

    text: as the front end wrote it, numbers as words.
    """
    tokens = [*_tokens(text, accent)]
    said = _said(tokens, accent)
    if not any(each for token, each in zip(tokens, said, strict=True) if token.is_word):
        return ""
    spaced = (f" {each}" if each and token.is_apart else each for token, each in zip(tokens, said, strict=True))
    return "".join(spaced).removeprefix(" ")


def guessed_words(text: str, accent: Accent) -> tuple[str, ...]:
    """Each word once that no dictionary has and the network says, as the text has it."""
    stems = ((token.start, guessed_stem(token.written, accent)) for token in _tokens(text, accent) if token.is_word)
    return tuple(dict.fromkeys(text[start : start + len(stem)] for start, stem in stems if stem))


def _tokens(text: str, accent: Accent) -> Iterator[_Token]:
    end = 0
    for match in _TOKEN.finditer(text):
        start, is_apart = match.start(), match.start() > end
        end = match.end()
        written = match[0]
        if match["word"]:
            yield from _parts(written, start, accent, is_apart=is_apart)
        elif word := _SPOKEN.get(written) or (match["digit"] and _DIGITS[unicodedata.digit(written)]):
            yield _Token(start, word, is_word=True, is_apart=True)
        elif sign := _sign(written, is_opening=is_apart or text[max(0, start - 1) : start] in tuple("(—–[-")):
            yield _Token(start, sign, is_word=False, is_apart=is_apart)
        else:
            end = -1


def _parts(written: str, start: int, accent: Accent, *, is_apart: bool) -> Iterator[_Token]:
    """A word, or the words that hyphens join, unless a dictionary has them as one."""
    plain = written.replace("’", "'").replace("‘", "'")
    whole = "-" not in plain or ways_of(plain, accent) or ways_of(plain.lower(), accent)
    for part in (plain,) if whole else plain.split("-"):
        bare = part if ways_of(part.lower(), accent) else part.lstrip("'")
        yield _Token(start + len(part) - len(bare), bare, is_word=True, is_apart=is_apart)
        start, is_apart = start + len(part) + 1, True


def _sign(written: str, *, is_opening: bool) -> str:
    """As the model has it; nothing where it is silent."""
    if written[0] in "–—―" or written.startswith("--"):
        return "—"
    if written.startswith("..."):
        return "…"
    sign = written.translate(_BRACKETS) if written != '"' else "“" if is_opening else "”"
    return sign if sign in _STOPS or sign in _KEPT else ""


def _said(tokens: Sequence[_Token], accent: Accent) -> list[str]:
    """From the last to the first: how a word is said depends on the sound after it."""
    words = [token.written.lower().rstrip("'") if token.is_word else token.written for token in tokens]
    capitals = [token.is_word and len(token.written) > 1 and token.written.isupper() for token in tokens]
    said: list[str] = []
    vowel_follows: bool | None = None
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if not token.is_word:
            vowel_follows = None if token.written in _STOPS else vowel_follows
            said.append(token.written)
            continue
        among_capitals = any(capitals[max(0, at - 1) : at] + capitals[at + 1 : at + 2])
        phones = phones_of_word(
            token.written, words, at, accent, vowel_follows=vowel_follows, among_capitals=among_capitals
        )
        first = phones.lstrip(PRIMARY + SECONDARY)[:1]
        vowel_follows = first in VOWELS or first == "ɐ" if first else vowel_follows
        said.append(phones)
    return said[::-1]
