"""Latin letters without their accents, as a voice for English knows them: Dvorak. What would be another word stays."""

from __future__ import annotations

import re
import unicodedata

from reading.languages.tables import words
from reading.script.script import Replacement

_WORD = re.compile(r"[^\W\d_]{1,60}")
_ACCENTED = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_SPECIAL = str.maketrans(
    {
        **dict(zip("øØłŁđĐðÐıħĦŧ", "oOlLdDdDihHt", strict=True)),
        "ß": "ss",
        "æ": "ae",
        "Æ": "Ae",
        "œ": "oe",
        "Œ": "Oe",
        "þ": "th",
        "Þ": "Th",
        "ŋ": "ng",
    }
)
_OTHER_WORDS = frozenset(
    words(
        """
    resume expose pate rose lame mate pique roue made sake peon cure age ane coupe moire vise retire
    """
    )
)
"""What would be another English word without its accent."""


def plain_words(text: str, start: int, end: int) -> list[Replacement]:
    """Words of text[start:end] that can be written without accents."""
    found = []
    for match in _WORD.finditer(text, start, end):
        word = match.group()
        if _ACCENTED.search(word) and (plain := _plain(word)) is not None:
            found.append(Replacement(match.start(), match.end(), plain))
    return found


def _plain(word: str) -> str | None:
    marked = unicodedata.normalize("NFC", word)
    folded = unicodedata.normalize("NFD", marked.translate(_SPECIAL))
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    is_other = plain.lower() in _OTHER_WORDS or plain.lower().removesuffix("s") in _OTHER_WORDS
    # A learnèd man: the accent makes a syllable.
    has_syllable = re.search(r"[èé]d\Z", marked) is not None
    return plain if plain.isascii() and not is_other and not has_syllable else None
