"""Marked-up text into a script: runs of whitespace are one space, and none is left at the edges of a block."""

from __future__ import annotations

import re

from reading.script.builder import ScriptBuilder
from reading.script.script import Voicing

_WHITESPACE = re.compile(r"[\s\u200b\ufeff]+")

_CLAUSE_MARKS = frozenset(".,;:!?…—–\"'”’»)。、！？")


class TextFlow(ScriptBuilder):
    """What a parser of XML or HTML says as it reads. The voicing and the italics hold until they are set again."""

    def __init__(self) -> None:
        super().__init__()
        self._owes_space = False
        self._last = ""
        self.voicing = Voicing()
        self.is_italic = False

    def text(self, text: str) -> None:
        words = _WHITESPACE.sub(" ", text)
        said = words.strip(" ")
        if not said:
            self._owes_space = self._owes_space or bool(words)
            return
        if self._spans and (self._owes_space or words.startswith(" ")):
            said = f" {said}"
        self.say(said, self.voicing)
        if self.is_italic:
            self.italic(len(said.strip()))
        self._last = said[-1]
        self._owes_space = words.endswith(" ")

    def text_as(self, text: str, spoken: str) -> None:
        """Text that is spoken differently from how it is written."""
        if not text.strip():
            return
        if self._spans and (self._owes_space or text[0].isspace()):
            self.say(" ", self.voicing)
        self.say_as(" ".join(text.split()), spoken, self.voicing)
        self._owes_space = text[-1].isspace()

    def space(self) -> None:
        """A gap between two words, if words stand on both sides."""
        self._owes_space = True

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        self._owes_space = True

    def end_block(self) -> None:
        super().end_block()
        self._owes_space = False

    @property
    def ends_clause(self) -> bool:
        """Whether a mark ends what was said last."""
        return self._last in _CLAUSE_MARKS
