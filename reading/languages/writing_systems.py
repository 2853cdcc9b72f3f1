"""Which letters languages are written with, and where a text needs others. Pure; the API and the workers ask the same.

A model makes noise of letters that it never learnt to read. Which language a text in the right letters is in does not
show here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reading.estimates import speech_units

_LATIN = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1d25\u1d2c-\u1d77\u1d79-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f"
    "\ua722-\ua7ff\uab30-\uab64\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a"
)
_CYRILLIC = "\u0400-\u052f\u1c80-\u1c8f\u1d2b\u1d78\ua640-\ua69f"
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA = "\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uffa0-\uffdc"

_LETTERS = {
    "chinese": _HAN,
    "english": _LATIN,
    "french": _LATIN,
    "german": _LATIN,
    "italian": _LATIN,
    "japanese": _HAN + _KANA,
    "korean": _HANGUL + _HAN,
    "portuguese": _LATIN,
    "russian": _CYRILLIC,
    "spanish": _LATIN,
}
"""By the models' names of languages; as the inside of a regular expression's character class."""

_OF_ALL_SCRIPTS = (
    "\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u02b0-\u02ff\u2070-\u209c\u2100-\u218b\u2460-\u24ff\u2776-\u2793"
    "\u3192-\u319f\u3220-\u33ff\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
)
"""Modifiers, symbols that are letters, and numbers that are not digits."""

_SENTENCE = re.compile(r"[^.!?…。！？｡\n\u2029]+")

LEAST_UNITS = 12
"""Speech units (`reading.estimates`) of a sentence that is refused for its letters alone. A shorter stretch is a
foreign word, and is spoken with its neighbours.
"""

_SCRIPTS = {
    "CJK": "Chinese characters",
    "IDEOGRAPHIC": "Chinese characters",
    "HIRAGANA": "Japanese letters",
    "KATAKANA": "Japanese letters",
    "HANGUL": "Korean letters",
}
"""By the first word of a letter's Unicode name, where that is not what people say."""


@dataclass(frozen=True, slots=True)
class ForeignText:
    """Where text begins that no language of a model is written in: a place in one of several parts.

    script: what it is written in instead, in words.
    """

    part: int
    start: int
    script: str


def find_foreign(parts: Sequence[str], languages: Collection[str]) -> ForeignText | None:
    """Where the parts of a text stop being readable for a model of these languages; None if they never do.

    That is the first sentence most of which is in other letters; or, if most of the whole is, the first such letter. A
    word of another script within a sentence is not. None also where a language's letters are not known.
    """
    foreign, own = _patterns(frozenset(name.casefold() for name in languages))
    if foreign is None or own is None:
        return None
    first: ForeignText | None = None
    units_foreign = units_own = 0
    for number, part in enumerate(parts):
        found = None if part.isascii() and "A-Z" in own.pattern else foreign.search(part)
        if found is None:
            units_own += len(part)
            continue
        first = first or ForeignText(number, found.start(), _script_of(found.group()))
        # The sentences before are readable, and mostly that is nearly all of the text.
        begins = _sentence_start(part, found.start())
        units_own += begins
        for sentence in _SENTENCE.finditer(part, begins):
            letter = foreign.search(part, *sentence.span())
            in_foreign, in_own = (speech_units("".join(each.findall(sentence.group()))) for each in (foreign, own))
            if letter is not None and in_foreign >= LEAST_UNITS and in_foreign > in_own:
                return ForeignText(number, letter.start(), _script_of(letter.group()))
            units_foreign, units_own = units_foreign + in_foreign, units_own + in_own
    return first if units_foreign > units_own else None


def count_foreign(text: str, languages: Collection[str]) -> int:
    """Letters that no language of the model is written with; 0 also where a language's letters are not known."""
    foreign, _ = _patterns(frozenset(name.casefold() for name in languages))
    return 0 if foreign is None or text.isascii() else len(foreign.findall(text))


def foreign_text_detail(script: str, start: int, model: str, languages: Collection[str]) -> str:
    """The sentence for the caller. start: in the text as they know it."""
    spoken = ", ".join(languages)
    return (
        f"from character {start} on the text is in {script}, which no language of {model} is written with; "
        f"it speaks: {spoken}"
    )


def _sentence_start(text: str, position: int) -> int:
    return max(text.rfind(mark, 0, position) for mark in ".!?…。！？｡\n\u2029") + 1


def _script_of(letter: str) -> str:
    word = unicodedata.name(letter, "unknown").split()[0]
    return _SCRIPTS.get(word, f"{word.capitalize()} letters")


@lru_cache(maxsize=64)
def _patterns(languages: frozenset[str]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """A letter of none of the languages, and a letter of one of them; None, None if one is not known."""
    if not languages or not languages <= _LETTERS.keys():
        return None, None
    own = "".join(sorted({_LETTERS[name] for name in languages}))
    return re.compile(rf"[^\W\d_{own}{_OF_ALL_SCRIPTS}]"), re.compile(f"[{own}]")
