"""Where the words of a sentence stand in the text that offsets refer to. Pure."""

from __future__ import annotations

from reading.plan.sentences import PlanSentence


class SourcePlaces:
    """Asked for word by word, in their order."""

    def __init__(self, sentence: PlanSentence, source: str) -> None:
        self._stretch = source[sentence.start : sentence.end]
        self._start = sentence.start
        self._at = 0

    def find(self, word: str) -> int | None:
        """None of a word that an edit put there, or that stands otherwise in the source."""
        found = self._stretch.find(word, self._at)
        if found < 0:
            return None
        self._at = found + len(word)
        return self._start + found
