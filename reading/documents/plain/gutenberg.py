"""The frame that Project Gutenberg puts around a book: its header and licence are not the book."""

from __future__ import annotations

import re
from dataclasses import dataclass

_START = re.compile(r"^\*\*\*[ ]?START OF (?:THE|THIS) PROJECT GUTENBERG E[^\n]*(?:\n[^\n*]{1,200})?", re.MULTILINE)
_OLD_START = re.compile(r"^\*END[ ]?\*[ ]?THE SMALL PRINT![^\n]*", re.MULTILINE)
_END = re.compile(
    r"^(?:\*\*\*[ ]?END OF (?:THE|THIS) PROJECT GUTENBERG E|End of (?:the |this )?Project Gutenberg)[^\n]*",
    re.MULTILINE | re.IGNORECASE,
)
_CREDITS = re.compile(
    r"Produced by|E-text prepared by|This e(?:Book|text|-text) was produced|Transcribed from|Text file produced|"
    r"(?:The )?Project Gutenberg(?:'s)? E(?:text|book) of",
    re.IGNORECASE,
)
_NOT_BLANK = re.compile(r"\S")
_BLANK_LINE = re.compile(r"\n[ \t]{0,80}\n")
_FIELD = re.compile(r"^(Title|Author|Language):[ \t]*([^\n]{1,300})", re.MULTILINE)
_NAMES = (
    "en english, fr french, de german, es spanish, it italian, pt portuguese, nl dutch, ru russian, pl polish, "
    "sv swedish, zh chinese, ja japanese, fi finnish, da danish, ko korean, la latin, el greek"
)
_LANGUAGES = {name: tag for tag, name in map(str.split, _NAMES.split(", "))}


@dataclass(frozen=True, slots=True)
class Book:
    """What lies in the frame, and what the header says of it."""

    text: str
    title: str = ""
    author: str = ""
    language: str = ""


def unframed(text: str) -> Book:
    """The text as it is if there is no frame."""
    # The old small print may stand there several times, one behind the other.
    start = _START.search(text) or next(iter(reversed(list(_OLD_START.finditer(text)))), None)
    if start is None:
        return Book(text)
    fields = dict(reversed(_FIELD.findall(text[: start.start()])))
    body_start = _behind_credits(text, start.end())
    end = _END.search(text, body_start)
    return Book(
        text[body_start : end.start() if end else len(text)],
        " ".join(fields.get("Title", "").split()),
        " ".join(fields.get("Author", "").split()),
        _LANGUAGES.get(fields.get("Language", "").strip().lower(), ""),
    )


def _behind_credits(text: str, start: int) -> int:
    """Behind the paragraphs, before the book's own, that say who made the file."""
    while True:
        first = _NOT_BLANK.search(text, start)
        if first is None or _CREDITS.match(text, first.start()) is None:
            return start
        end = _BLANK_LINE.search(text, first.start())
        start = end.end() if end else len(text)
