"""Which strings may be spoken. What cannot be said aloud, or could hide what is said, is refused and not repaired:
a repaired text is not the one whose offsets the caller knows.
"""

from __future__ import annotations

import re
import unicodedata

from pydantic_core import PydanticCustomError

from rhapsode.contract.words import MAX_WORD_CHARS, find_long_word, is_speakable

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_BIDI = "\u202a-\u202e\u2066-\u2069"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))

_SURROGATES = "\ud800-\udfff"
"""JSON's escapes can spell one half of a pair, which no encoding can write down."""

_REFUSED = f"{_CONTROL}{_BIDI}{_NONCHARACTERS}{_SURROGATES}"
_REFUSED_IN_PROSE = re.compile(f"[{_REFUSED}]")
_REFUSED_IN_LABELS = re.compile(f"[\t\n\r{_REFUSED}]")


def check_spoken_text(text: str) -> str:
    """The text itself. Raises `PydanticCustomError` with a code and a sentence."""
    if not text.strip():
        raise PydanticCustomError("empty_text", "there is no text to speak")
    check_prose(text)
    if (at := find_long_word(text)) is not None:
        raise PydanticCustomError(
            "word_too_long",
            "the word at character {at} has more than {limit} characters; add spaces or remove it",
            {"at": at, "limit": MAX_WORD_CHARS},
        )
    if not is_speakable(text):
        raise PydanticCustomError("nothing_speakable", "the text has no letter or digit that could be spoken")
    return text


def text_or_nothing(text: str) -> str:
    """As `check_spoken_text`; "" for a text of spaces alone, which leaves out what it stands for."""
    return check_spoken_text(text) if text.strip() else ""


def check_prose(text: str) -> str:
    """As it is, if it holds no control character but tab and line ends, no bidi control and no noncharacter."""
    _refuse(text, _REFUSED_IN_PROSE)
    return text


def check_label(text: str) -> str:
    """As `check_prose`, on one line."""
    _refuse(text, _REFUSED_IN_LABELS)
    return text


def _refuse(text: str, refused: re.Pattern[str]) -> None:
    if not (found := refused.search(text)):
        return
    character = found.group()
    if "\ud800" <= character <= "\udfff":
        sentence = "character {at} is half of a surrogate pair"
        raise PydanticCustomError("invalid_unicode", sentence, {"at": found.start()})
    bidi = "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
    raise PydanticCustomError(
        "bidi_control" if bidi else "control_character",
        "character {at} is {code_point} ({name}), which must not be in a text",
        {
            "at": found.start(),
            "code_point": f"U+{ord(character):04X}",
            "name": unicodedata.name(character, "a control character"),
        },
    )
