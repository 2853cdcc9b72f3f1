"""How the API names a segment: by its place in the narration. Pure."""

from __future__ import annotations

import re

_SEGMENT = re.compile(r"(?:seg_)?([0-9]{1,7})")


def segment_id(index: int) -> str:
    return f"seg_{index:06d}"


def segment_index(text: str) -> int | None:
    """Of `seg_000331` or of the index alone; None for what is neither."""
    match = _SEGMENT.fullmatch(text)
    return int(match[1]) if match else None
