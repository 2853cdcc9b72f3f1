"""Lines that number a chapter: "CHAPTER II. The Pool", "BOOK THE FIRST", "IV."."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reading.numbers.english_words import cardinal, ordinal
from reading.numbers.roman_numerals import roman_value

_PARTS = "part book volume act teil buch partie livre tome parte libro deel boek"
_CHAPTERS = (
    "chapter letter stave canto scene section episode adventure lecture essay fable kapitel chapitre capítulo "
    "capitolo hoofdstuk rozdział"
)
_NAMED = (
    "prologue epilogue preface introduction foreword afterword conclusion introductory postscript interlude "
    "prelude appendix prolog epilog vorwort nachwort einleitung préface prólogo prefazione etymology extracts "
    "序章 序言 序幕 前言 引子 楔子 尾声 尾聲 后记 後記 终章 終章 番外 "
    "プロローグ エピローグ あとがき まえがき 프롤로그 에필로그"
)


_MOST_IN_WORDS = 99
NUMBER_WORDS = {word(number): number for word in (cardinal, ordinal) for number in range(1, _MOST_IN_WORDS + 1)}
_EAST_PARTS = "卷部编編篇편부"
_EAST_CHAPTERS = "章回节節话話集幕讲講折장화회"
PARTS = frozenset((*_PARTS.split(), *_EAST_PARTS))
"""What holds chapters."""

CHAPTERS = frozenset((*_CHAPTERS.split(), *_EAST_CHAPTERS))
NAMED = frozenset(_NAMED.split())
"""Chapters without a number."""

MAX_HEADING = 120

_LABEL = re.compile(
    rf"(?P<kind>(?i:{'|'.join(sorted(PARTS | CHAPTERS))}))\s+(?:(?i:the)\s+)?"
    r"(?P<number>[0-9]{1,4}|[^\W\d_]{1,12}(?:-[^\W\d_]{1,8})?)(?![\w'’])"
    r"(?P<gap>\s*(?:[.:—–]|-{1,2})\s*|\s*)(?P<title>.{0,120})"
)
_BARE = re.compile(r"(?P<number>[IVXLC]{1,9}|[0-9]{1,3})(?P<gap>\s*(?:[.:—–]|-{2})\s*|\s{2,}|$)(?P<title>.{0,120})")
_EAST_DIGITS = (
    {
        letter: number
        for letters in (
            "零一二三四五六七八九",
            "〇壹贰叁肆伍陆柒捌玖",
            "〇壹貳參肆伍陸柒捌玖",
            "０１２３４５６７８９",
            "0123456789",
        )
        for number, letter in enumerate(letters)
    }
    | {"两": 2, "兩": 2}
    | {chr(0xFF10 + number): number for number in range(10)}
)
_EAST_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_EAST = re.compile(
    rf"[第제][ ]?(?P<number>[{''.join(_EAST_DIGITS)}{''.join(_EAST_UNITS)}]{{1,9}})[ ]?"
    rf"(?P<kind>[{_EAST_PARTS}{_EAST_CHAPTERS}])(?P<title>(?:[\s:：、.·—-].{{0,60}}|[^，。！？；…」”]{{0,30}}))"
)
_ROMAN = re.compile(r"(?:(?P<c>C{0,3}))(?P<x>XC|XL|L?X{0,4})(?P<i>IX|IV|V?I{0,4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Label:
    """kind: its keyword in lower case, "roman" or "digit" where there is none. title: what the line says after it."""

    kind: str
    number: int
    title: str

    @property
    def is_bare(self) -> bool:
        return self.kind in ("roman", "digit")


def read_label(text: str) -> Label | None:
    """text: a line, without blanks at its edges. None for one that numbers nothing."""
    if len(text) > MAX_HEADING:
        return None
    return _keyworded(text) or _east_asian(text) or _bare(text)


def is_part(text: str) -> bool:
    """Whether the line numbers what holds chapters."""
    label = read_label(text)
    return label is not None and label.kind in PARTS


def is_named(text: str) -> bool:
    """PREFACE and its like, which stand alone."""
    return len(text) < 40 and text.rstrip(".:").casefold() in NAMED and not text[0].islower()


def _keyworded(text: str) -> Label | None:
    match = _LABEL.fullmatch(text)
    if match is None or match["kind"][0].islower():
        return None
    number = _value(match["number"])
    title = match["title"].strip(" .:—–-")
    if number is None or not _may_follow(match["kind"], match["gap"], title):
        return None
    return Label(match["kind"].casefold(), number, title)


def _east_asian(text: str) -> Label | None:
    match = _EAST.fullmatch(text)
    return match and Label(match["kind"], _east_asian_value(match["number"]), match["title"].strip(" 　:：、.·—-"))


def _east_asian_value(number: str) -> int:
    """第两百一十八章, 第叁章, 第218章."""
    total, digits = 0, 0
    for letter in number:
        if unit := _EAST_UNITS.get(letter):
            total, digits = total + max(1, digits) * unit, 0
        else:
            digits = 10 * digits + _EAST_DIGITS[letter]
    return total + digits


def _may_follow(kind: str, gap: str, title: str) -> bool:
    """Whether these words are a title, and not the rest of a sentence ("Part one of the plan was easy.")."""
    if not title:
        return True
    if title[0].islower():
        return bool(gap.strip()) and title[-1].isalnum()
    return bool(gap.strip()) or len(gap) > 1 or kind.isupper()


def _bare(text: str) -> Label | None:
    match = _BARE.fullmatch(text)
    if match is None:
        return None
    number = _value(match["number"])
    title = match["title"].strip()
    is_sentence = title.endswith((".", ",", ";", ":")) and not title.isupper()
    if number is None or (title and (title[0].islower() or is_sentence)):
        return None
    return Label("digit" if match["number"].isdigit() else "roman", number, title)


def _value(number: str) -> int | None:
    if number.isdigit():
        return int(number)
    if (known := NUMBER_WORDS.get(number.casefold())) is not None:
        return known
    return roman_value(number.upper()) if _ROMAN.fullmatch(number) else None
