"""How long segments are. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rhapsode.contract.jobs.input import SegmentationMode


@dataclass(frozen=True, slots=True)
class LengthRules:
    """How text becomes segments, in characters (code points).

    max_bytes: of a segment's text in UTF-8; None for no such bound. A byte-level tokenizer makes at most one token of
    a byte, so this holds every segment within what the model takes, in scripts it hardly knows too.

    min_chars: what is shorter is spoken with a neighbour, also over the end of a paragraph; 0 for nothing.

    opening_chars: what the first segment aims at in place of `target_chars`; 0 for the same as the others.

    mode: whether sentences are packed towards the target, or each is a segment.
    """

    target_chars: int = 220
    max_chars: int = 400
    max_bytes: int | None = None
    min_chars: int = 0
    opening_chars: int = 0
    mode: SegmentationMode = SegmentationMode.PACKED


@dataclass(frozen=True, slots=True)
class SegmentBounds:
    """What a job's segments keep to beside the lengths that its request shows. Fields as of `LengthRules`.

    asked_chars: what the caller wanted in place of `max_chars`, where the model takes less; 0 where it got its wish.
    """

    max_bytes: int | None = None
    opening_chars: int = 0
    asked_chars: int = 0
