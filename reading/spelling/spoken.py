"""A text as it is spoken or shown, and where each of its characters comes from. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from reading.script.script import Replacement, Script


def written_text(script: Script) -> SpokenText:
    """The text as people are shown it: without what its printer left in it, and nothing spelt out."""
    shown = [
        Replacement(each.start, each.end, each.written) for each in script.replacements if each.written is not None
    ]
    return SpokenText(script.text, shown)


class SpokenText:
    """`text` is the source with its replacements done; positions translate in both directions.

    replacements: in order, not overlapping.
    """

    def __init__(self, source: str, replacements: Sequence[Replacement]) -> None:
        self._source_starts = [each.start for each in replacements]
        self._source_ends = [each.end for each in replacements]
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.text = self._spoken(source, replacements) if replacements else source

    def from_source(self, position: int) -> int:
        """Where a position of the source is; the inside of what was replaced is the replacement's end."""
        last = bisect_right(self._source_starts, position) - 1
        if last < 0:
            return position
        if position == self._source_starts[last] < self._source_ends[last]:
            return self._starts[last]
        return self._ends[last] + max(0, position - self._source_ends[last])

    def to_source(self, position: int) -> int:
        """The position of the source; the inside of a replacement is the end of what it replaced.

        Where something is spoken as nothing, the position before it is meant.
        """
        last = bisect_left(self._starts, position) - 1
        if last < 0:
            return position
        return self._source_ends[last] + max(0, position - self._ends[last])

    def _spoken(self, source: str, replacements: Sequence[Replacement]) -> str:
        parts: list[str] = []
        at = length = 0
        for each in replacements:
            length += each.start - at
            self._starts.append(length)
            length += len(each.spoken)
            self._ends.append(length)
            parts += (source[at : each.start], each.spoken)
            at = each.end
        parts.append(source[at:])
        return "".join(parts)
