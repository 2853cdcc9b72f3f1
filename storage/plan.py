"""The plan of a narration: which stretch of the text is spoken in which segment, as JSON lines in the store.

Offsets are code points into the job's input text; the segments cover it exactly, in order, without gaps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

PLAN_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """`text` is what is spoken: the stretch [start, end) with its outer whitespace removed."""

    index: int
    start: int
    end: int
    text: str
    pause_after_s: float


class PlanFormatError(ValueError):
    """The bytes are not a plan this version can read."""


def encode_plan(segments: Iterable[PlannedSegment]) -> bytes:
    lines = [json.dumps({"plan_format": PLAN_FORMAT})]
    lines += [
        json.dumps({"i": s.index, "start": s.start, "end": s.end, "text": s.text, "pause_s": s.pause_after_s})
        for s in segments
    ]
    return ("\n".join(lines) + "\n").encode()


def decode_plan(data: bytes) -> tuple[PlannedSegment, ...]:
    """Raises `PlanFormatError` for anything `encode_plan` did not write."""
    try:
        head, *rest = (json.loads(line) for line in data.decode().splitlines())
        if head != {"plan_format": PLAN_FORMAT}:
            raise PlanFormatError(f"unknown plan format {head!r}")
        return tuple(PlannedSegment(r["i"], r["start"], r["end"], r["text"], r["pause_s"]) for r in rest)
    except (KeyError, TypeError, ValueError) as error:
        raise PlanFormatError(f"not a plan: {error}") from error
