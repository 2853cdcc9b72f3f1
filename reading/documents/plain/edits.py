"""Stretches of a text taken out, or replaced, in one pass."""

from __future__ import annotations

from collections.abc import Iterable

Edit = tuple[int, int, str]
"""[start, end) becomes the string."""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Of edits that overlap, the first one counts."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        if start >= at:
            parts += (text[at:start], new)
            at = end
    parts.append(text[at:])
    return "".join(parts)
