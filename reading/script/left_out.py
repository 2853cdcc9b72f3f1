"""What an input has and nobody will hear, kind by kind. Pure."""

from __future__ import annotations

from dataclasses import replace

from reading.script.script import LeftOutText

MOST_KINDS = 200
"""That are listed; an input that invents more names has others of them under the last."""

_LONGEST_KIND = 80
_LONGEST_QUOTE = 40


class LeftOutList:
    """In the order in which the kinds are met."""

    def __init__(self) -> None:
        self._kinds: dict[str, LeftOutText] = {}

    def add(self, kind: str, first: str) -> None:
        """One more; first: its place, for the first of its kind."""
        kind = " ".join(kind[:_LONGEST_KIND].split())
        if kind not in self._kinds and len(self._kinds) >= MOST_KINDS:
            kind = next(reversed(self._kinds))
        known = self._kinds.get(kind) or LeftOutText(kind, 0, first)
        self._kinds[kind] = replace(known, count=known.count + 1)

    @property
    def all(self) -> tuple[LeftOutText, ...]:
        return tuple(self._kinds.values())


def quoted(text: str) -> str:
    """How it begins, as the place where it stands."""
    words = " ".join(text[: 4 * _LONGEST_QUOTE].split())
    return f"“{words[:_LONGEST_QUOTE].rstrip()}…”" if len(words) > _LONGEST_QUOTE else f"“{words}”"
