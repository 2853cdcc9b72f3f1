"""A script whose litter is spoken as nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reading.cleaning.hyphens import find_divided
from reading.cleaning.litter import find_litter
from reading.script.script import Replacement, Script


def without_litter(script: Script, *, is_book: bool) -> Script:
    """What is left of litter is spoken as nothing; the text stays, and every offset into it."""
    found = [*find_litter(script.text, is_book=is_book), *find_divided(script.text)]
    return replace(script, replacements=tuple(_fitting(found, script))) if found else script


def _fitting(found: Sequence[Replacement], script: Script) -> Iterator[Replacement]:
    """With those of the script, in order: none overlaps another, none crosses the end of a span."""
    ends = iter(sorted(span.end for block in script.blocks for span in block.spans))
    end, at = 0, 0
    own = {(each.start, each.end) for each in script.replacements}
    both = sorted((*script.replacements, *found), key=lambda each: (each.start, (each.start, each.end) not in own))
    for each in both:
        while end <= each.start:
            end = next(ends)
        if each.start >= at and each.end <= end:
            yield each
            at = each.end
