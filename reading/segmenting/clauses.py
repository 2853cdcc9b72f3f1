"""Where a sentence that is too long is best cut, by what a reader would do. Pure.

A cut at a semicolon is hardly noticeable; one between two words is. What stands in quotation marks stays together while
there is another place; a number in groups and an abbreviation do so while there is any other.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_CONJUNCTIONS = (
    # English
    *("and", "but", "or", "nor", "yet", "because", "although", "though", "while", "when", "where", "which", "who"),
    *("that", "if", "unless", "until", "before", "after", "since", "so"),
    # German
    *("und", "oder", "aber", "denn", "weil", "dass", "wenn", "als", "obwohl", "während", "bevor", "sondern"),
    # French, Italian, Portuguese, Spanish
    *("et", "ou", "mais", "car", "parce", "lorsque", "quand", "puis", "ma", "perché", "mentre", "quando", "mas"),
    *("porque", "enquanto", "pero", "cuando", "mientras", "aunque", "que", "che", "e", "y", "o"),
    # Russian
    *("и", "или", "но", "что", "потому", "когда", "если", "чтобы"),
)
CLAUSE_END = re.compile(r"[,;:)\]–—…][\"'”’»]*(?=\s)|[、，；：—…]+[」』）】》〉”’]*")
_BLANK = re.compile(r"\s")
_CONJUNCTION = re.compile(rf"\s(?:{'|'.join(_CONJUNCTIONS)})(?=\s)")
_WEAK_MARKS = frozenset(",，、)]")
_CLOSERS = {"“": "”", '"': '"', "«": "»", "「": "」", "『": "』"}


class ClauseCuts(enum.IntEnum):
    """The best first."""

    CLAUSE = 0
    """Behind a semicolon, a colon, a dash."""
    JOINED_CLAUSE = 1
    """Behind a comma that a conjunction follows."""
    COMMA = 2
    CONJUNCTION = 3
    """Before one without a comma."""
    WORD = 6
    """Between two words; further down by as much as a quotation costs, so that a comma in one is still better."""
    TORN = 20
    """Inside a number, or behind an abbreviation."""


_IN_QUOTATION = 2
"""What it costs to tear one."""


@dataclass(frozen=True, slots=True)
class ClauseCut:
    """position: where the next piece begins. rank: smaller is better."""

    position: int
    rank: int


@dataclass(frozen=True, slots=True)
class Clauses:
    """Of one sentence, in which quotations are found once."""

    text: str
    quotations: tuple[range, ...]

    def places(self, first: int, last: int) -> Iterator[ClauseCut]:
        """All in [first, last), in no order."""
        for match in CLAUSE_END.finditer(self.text, first, last):
            yield self._place(match.end(), self._kind_of_mark(match))
        for match in _BLANK.finditer(self.text, first, last):
            yield self._place(match.end(), self._kind_of_blank(match.start()))

    def _place(self, position: int, kind: ClauseCuts) -> ClauseCut:
        number = bisect_right(self.quotations, position, key=lambda each: each.start) - 1
        is_inside = number >= 0 and position < self.quotations[number].stop
        return ClauseCut(position, kind + (_IN_QUOTATION if is_inside else 0))

    def _kind_of_mark(self, mark: re.Match[str]) -> ClauseCuts:
        if mark.group()[0] not in _WEAK_MARKS:
            return ClauseCuts.CLAUSE
        return ClauseCuts.JOINED_CLAUSE if _CONJUNCTION.match(self.text, mark.end()) else ClauseCuts.COMMA

    def _kind_of_blank(self, at: int) -> ClauseCuts:
        before, after = self.text[at - 1 : at], self.text[at + 1 : at + 2]
        if before == "." or (before.isdigit() and after.isdigit()):
            return ClauseCuts.TORN
        return ClauseCuts.CONJUNCTION if _CONJUNCTION.match(self.text, at) else ClauseCuts.WORD


def clauses_of(text: str, start: int, stop: int) -> Clauses:
    return Clauses(text, tuple(_quotations(text, start, stop)))


def _quotations(text: str, start: int, stop: int) -> Iterator[range]:
    """From behind the opening mark to before the closing one; what is never closed is none."""
    opened, closer = 0, ""
    for place in range(start, stop):
        if closer and text[place] == closer:
            yield range(opened, place)
            closer = ""
        elif not closer and text[place] in _CLOSERS:
            opened, closer = place + 1, _CLOSERS[text[place]]
