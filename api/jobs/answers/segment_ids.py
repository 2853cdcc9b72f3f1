"""How the API names a segment and its sentences: by their places in the narration. Pure."""

from __future__ import annotations

import re

from reading.plan.plan import segment_id as segment_id

_SEGMENT = re.compile(r"(?:seg_)?([0-9]{1,7})")
_SENTENCE = re.compile(rf"{_SEGMENT.pattern}\.([0-9]{{1,4}})")


def segment_index(text: str) -> int | None:
    """Of `seg_000331` or of the index alone; None for what is neither."""
    match = _SEGMENT.fullmatch(text)
    return int(match[1]) if match else None


def sentence_id(index: int, number: int) -> str:
    """Of the sentence `number` of the segment `index`, both from 0; in the name the first sentence is 1."""
    return f"{segment_id(index)}.{number + 1}"


def sentence_place(text: str) -> tuple[int, int] | None:
    """Segment and number, both from 0, of `seg_000331.2`; None for what names no sentence."""
    match = _SENTENCE.fullmatch(text)
    return (int(match[1]), int(match[2]) - 1) if match and int(match[2]) else None
