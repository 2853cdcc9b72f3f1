"""Remarks in brackets that may be longer than a line: notes, pictures, what the transcriber has to say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reading.documents.plain.edits import Edit
from rhapsode.contract.jobs.input import Images

MOST_CHARS = 5_000
"""Of one remark; a bracket that is not closed by then was meant otherwise."""

_OPEN = re.compile(
    r"\[(?P<kind>Footnote|Illustrations?|Transcriber['’]?s?['’]? Notes?|Sidenote|Blank Page|Decoration|Frontispiece)"
    r"(?:[ \t][\w*†]{1,8})?[ \t]{0,4}(?P<colon>:?)",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[\[\]]")


def find_remarks(text: str, images: Images) -> Iterator[Edit]:
    """Edits that take them out; with `alt` a picture's words stay."""
    closings = _closings(text) if _OPEN.search(text) else {}
    at = 0
    while (opened := _OPEN.search(text, at)) is not None:
        end = closings.get(opened.start())
        at = opened.end() if end is None else end
        if end is None:
            continue
        if images is Images.ALT and opened["colon"] and opened["kind"].casefold().startswith("illus"):
            yield opened.start(), opened.end(), ""
            yield end - 1, end, ""
        else:
            yield opened.start(), end, ""


def _closings(text: str) -> dict[int, int]:
    """Where each bracket begins that is closed soon enough, and the end of its other half."""
    closings: dict[int, int] = {}
    open_at: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "[":
            open_at.append(match.start())
        elif open_at and match.end() - (start := open_at.pop()) <= MOST_CHARS:
            closings[start] = match.end()
    return closings
