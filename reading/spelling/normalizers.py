"""Which languages have rules that write numbers and signs as words, and where they are."""

from __future__ import annotations

from collections.abc import Mapping

from reading.english.letters.letter_names import respell_english_by_name
from reading.numbers.east_asian import respell_chinese, respell_japanese, respell_korean
from reading.numbers.european import (
    respell_french,
    respell_german,
    respell_italian,
    respell_portuguese,
    respell_spanish,
)
from reading.spelling.respelling import Respell

NORMALIZERS: Mapping[str, Respell] = {
    "chinese": respell_chinese,
    "english": respell_english_by_name,
    "french": respell_french,
    "german": respell_german,
    "italian": respell_italian,
    "japanese": respell_japanese,
    "korean": respell_korean,
    "portuguese": respell_portuguese,
    "spanish": respell_spanish,
}
"""By the models' names of languages. Russian is missing: its numbers decline with the words around them."""
