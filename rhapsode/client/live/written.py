"""Of a text that is being written, what may be sent on."""

from __future__ import annotations


def whole_words(text: str) -> int:
    """Characters up to and with its last white space: no word before them grows any more."""
    return next((end for end in range(len(text), 0, -1) if text[end - 1].isspace()), 0)
