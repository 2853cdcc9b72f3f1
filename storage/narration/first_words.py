"""How a text begins, to know one job from another. Pure."""

from __future__ import annotations

MOST_CHARS = 80
_LOOKED_AT = 8 * MOST_CHARS
"""A text may begin with blanks; one that has nothing but blanks for so long has no first words."""


def first_words(text: str) -> str:
    """On one line, whole words where that is possible, with an ellipsis where the text goes on."""
    line = " ".join(text[:_LOOKED_AT].split())
    if len(line) <= MOST_CHARS and len(text) <= _LOOKED_AT:
        return line
    cut = line[:MOST_CHARS]
    whole, space, _ = cut.rpartition(" ")
    return f"{whole if space else cut}…" if cut else ""
