"""What misaki's dictionaries say of a word: one compressed file an accent, searched as it lies in memory."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

FOLDER = Path(__file__).with_name("dictionaries")
DEFAULT = "DEFAULT"

_KEPT_WORDS = 20_000

Ways = Mapping[str, str]
"""How a word is said, by its tag; an empty string stands for the names of its letters."""


class Accent(StrEnum):
    AMERICAN = "us"
    BRITISH = "gb"


@lru_cache(_KEPT_WORDS)
def ways_of(word: str, accent: Accent) -> Ways | None:
    """word: in exactly this case."""
    lines = _lines(accent)
    wanted = word.encode(errors="replace") + b"\t"
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = lines.index(b"\n", start)
        if lines.startswith(wanted, start):
            default, *others = lines[start + len(wanted) : end].decode().split("\t")
            return {DEFAULT: default, **dict(each.split("=") for each in others)}
        low, high = (end + 1, high) if lines[start:end] < wanted else (low, start)
    return None


def dictionary_file(accent: Accent) -> str:
    return f"{accent}.txt.gz"


@cache
def _lines(accent: Accent) -> bytes:
    return gzip.decompress((FOLDER / dictionary_file(accent)).read_bytes())
