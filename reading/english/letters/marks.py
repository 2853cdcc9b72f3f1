"""Marks that a narrator passes over: signs of footnotes behind a word, and emoji."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from reading.script.script import Replacement

_FOOTNOTE = re.compile(
    r"(?<=[A-Za-z.,;:!?”’\"')\]])(?:(?:\[(?:\d{1,3}|[a-z]|\*{1,3}|†|‡)\]){1,4}|[†‡]{1,3}|\*{1,3}|[⁰¹²³⁴-⁹]{1,3})"
    r"(?=[.,;:!?)\]\"'”’]{0,4}+(?:\s|—|–|…|\Z))"
)
_OPENED_STAR = re.compile(r"(?:\s|^|[(\"“‘])\*{1,3}\w")
_MIGHT_HAVE_ONE = re.compile(r"[\[†‡*⁰¹²³⁴-⁹]")
_EMOJI_CHAR = "\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001faff\U0001f1e6-\U0001f1ff☀-⛿✀-➿⬛⬜⭐⭕"
_EMOJI = re.compile(rf"[ ]?[{_EMOJI_CHAR}][{_EMOJI_CHAR}\ufe0f\u200d\U0001f3fb-\U0001f3ff\u2640\u2642]{{0,40}}")
_TYPOGRAPHIC = frozenset("✓✔✗✘☞☜❧❦✝✠❡☙❖✻✽❊✱✲☆★☎♔♕♖♗♘♙♚♛♜♝♞♟♩♪♫♬♭♮♯☐☑☒")
_DRAWN = re.compile(r"\b(?:heavy|white|black) | (?:sign|symbol)\Z")
LOOK_BACK = 80


def footnotes(text: str, start: int, end: int) -> Iterator[Replacement]:
    """A star that closes what another opened is emphasis, and a power behind one letter is mathematics."""
    if not _MIGHT_HAVE_ONE.search(text, start, end):
        return
    for match in _FOOTNOTE.finditer(text, start, end):
        is_power = match.group()[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹" and _is_symbol(text, match.start())
        is_emphasis = match.group()[0] == "*" and _OPENED_STAR.search(
            text[max(0, match.start() - LOOK_BACK) : match.start()]
        )
        is_index = match.group()[0] == "[" and text[match.start() - 1].isalpha() and _is_symbol(text, match.start())
        if not (is_power or is_emphasis or is_index):
            yield Replacement(match.start(), match.end(), "")


def name_emoji(text: str, start: int, end: int) -> Iterator[Replacement]:
    """A `Respell`: what `emoji` passes over, by name; one that is repeated is named once."""
    for match in _EMOJI.finditer(text, start, end):
        first = match.start() + match.group().startswith(" ")
        names = [_name(char) for char in text[first : match.end()]]
        known = list(dict.fromkeys(name for name in names if name))
        if known and not set(match.group()) & _TYPOGRAPHIC:
            space = " " if first and text[first - 1].isalnum() else ""
            yield Replacement(first, match.end(), space + ", ".join(known))


def _name(char: str) -> str:
    """As Unicode has it, without what says how it is drawn; "" for what only changes another."""
    if "\U0001f3fb" <= char <= "\U0001f3ff" or char in "\ufe0f\u200d\u2640\u2642":
        return ""
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return "flag"
    words = unicodedata.name(char, "").lower().replace("-", " ")
    return _DRAWN.sub("", words)


def emoji(text: str, start: int, end: int) -> Iterator[Replacement]:
    for match in _EMOJI.finditer(text, start, end):
        if not set(match.group()) & _TYPOGRAPHIC:
            yield Replacement(match.start(), match.end(), "")


def _is_symbol(text: str, position: int) -> bool:
    """A single letter, or a unit behind a number."""
    word = re.search(r"[^\s]{1,20}\Z", text[max(0, position - 20) : position])
    return word is not None and (len(word.group()) <= 2 or any(char.isdigit() for char in word.group()))
