"""Lines of verse in a text that was typed: each is a line of its own for the ear as well. Pure.

Right, or untouched: prose that is wrapped has lines that begin in the middle of a sentence, with a small letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

LONGEST = 60
"""Code points of a line of verse; a typewriter wraps prose later."""

FEWEST = 3
"""Lines of a stanza that is not set in: two that begin with a capital are a chance."""

FEWEST_SET_IN = 2

_LINE_END = re.compile(r"\n")
_OPENING = "\"'“‘«„(—–_ \t"


def verse_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of the paragraph [start, end) if it is a stanza, else the whole; each with the line's end behind it."""
    content = start + len(text[start:end].rstrip())
    inner = [match.end() for match in _LINE_END.finditer(text, start, content)]
    bounds = list(pairwise((start, *inner, end)))
    if _is_stanza([text[first:last] for first, last in bounds]):
        yield from bounds
    else:
        yield start, end


def _is_stanza(lines: Sequence[str]) -> bool:
    """What the first line is set in by went with the blank line before it."""
    is_set_in = all(line.startswith(("  ", "\t")) for line in lines[1:])
    if len(lines) < (FEWEST_SET_IN if is_set_in else FEWEST):
        return False
    return all(len(line.strip()) <= LONGEST and line.strip().lstrip(_OPENING)[:1].isupper() for line in lines)
