"""English apostrophes that became spaces, as in "don t". Old files of books often lost them so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reading.script.script import Replacement

_CERTAIN = re.compile(
    r"\b(?:(?:ai|are|ca|could|did|do|does|had|has|have|is|must|need|sha|should|was|were|wo|would)n(?P<not>[ \u00a0])t"
    r"|(?:I|he|it|she|they|we|who|you)(?P<verb>[ \u00a0])(?:ll|re|ve))(?![\w'’-])",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(
    r"(?<=[^\W\d_]{2})(?P<s>[ \u00a0])s\b|\bI(?P<m>[ \u00a0])m\b|\b(?:I|he|it|she|they|we|who|you)(?P<d>[ \u00a0])d\b"
    r"|\bo(?P<o>[ \u00a0])clock\b"
)
_KEPT = re.compile(r"[^\W\d_]['’][^\W\d_]")


def find_lost_apostrophes(text: str) -> Iterator[Replacement]:
    """The spaces in their places. A lone "s" is one only in a text that lost others and kept none."""
    certain = list(_CERTAIN.finditer(text))
    possible = [] if not certain or _KEPT.search(text) else list(_POSSIBLE.finditer(text))
    for match in (*certain, *possible):
        if match.lastgroup is not None:
            yield Replacement(*match.span(match.lastgroup), spoken="’", written="’")
