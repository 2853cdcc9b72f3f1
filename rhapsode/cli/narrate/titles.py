"""What a narration is called whose text came from a file: the file's name. Pure."""

from __future__ import annotations

import unicodedata
from pathlib import Path

MOST_CHARS = 200


def title_of(file: str) -> dict[str, str]:
    """As a job's metadata; empty for standard input, and for a name of which nothing can be shown."""
    stem = "" if file == "-" else Path(file).stem
    title = " ".join("".join(" " if unicodedata.category(each)[0] == "C" else each for each in stem).split())
    return {"title": title[:MOST_CHARS]} if title else {}
