"""How the API names a segment: by its place in the narration. Pure."""

from __future__ import annotations

import re

from storage.segments.plan import segment_id as segment_id

_SEGMENT = re.compile(r"(?:seg_)?([0-9]{1,7})")


def segment_index(text: str) -> int | None:
    """Of `seg_000331` or of the index alone; None for what is neither."""
    match = _SEGMENT.fullmatch(text)
    return int(match[1]) if match else None
