"""Tables of words, as they are written in files of data."""

from __future__ import annotations

import re
from collections.abc import Iterable


def words(lines: str) -> tuple[str, ...]:
    """A line that begins with # is a comment."""
    return tuple(word for line in lines.splitlines() if not line.lstrip().startswith("#") for word in line.split())


def table(lines: str) -> dict[str, str]:
    """What is written as "km=kilometer|m=meter", in lines."""
    entries = (entry.strip() for line in lines.splitlines() for entry in line.split("|"))
    return dict(entry.split("=") for entry in entries if entry)


def one_of(words: Iterable[str]) -> str:
    """A pattern for the longest of them."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
