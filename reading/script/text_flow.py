"""Marked-up text into a script: runs of whitespace are one space, and none is left at the edges of a block."""

from __future__ import annotations

import re

from reading.script.builder import ScriptBuilder
from reading.script.script import BlockKind, Voicing

_WHITESPACE = re.compile(r"[\s\u200b\ufeff]+")

_CLAUSE_MARKS = frozenset(".,;:!?…—–\"'”’»)。、！？")


class TextFlow:
    """What a parser of XML or HTML says as it reads. The voicing and the italics hold until they are set again."""

    def __init__(self, builder: ScriptBuilder) -> None:
        self._builder = builder
        self._has_text = False
        self._owes_space = False
        self._last = ""
        self.voicing = Voicing()
        self.is_italic = False

    def leave_out(self, kind: str, first: str) -> None:
        """As `LeftOutList.add`."""
        self._builder.left_out.add(kind, first)

    def text(self, text: str) -> None:
        words = _WHITESPACE.sub(" ", text)
        said = words.strip(" ")
        if not said:
            self._owes_space = self._owes_space or bool(words)
            return
        if self._has_text and (self._owes_space or words.startswith(" ")):
            said = f" {said}"
        self._builder.say(said, self.voicing)
        if self.is_italic:
            self._builder.italic(len(said.strip()))
        self._last = said[-1]
        self._has_text = True
        self._owes_space = words.endswith(" ")

    def text_as(self, text: str, spoken: str) -> None:
        """Text that is spoken differently from how it is written."""
        if not text.strip():
            return
        if self._has_text and (self._owes_space or text[0].isspace()):
            self._builder.say(" ", self.voicing)
        self._builder.say_as(" ".join(text.split()), spoken, self.voicing)
        self._has_text = True
        self._owes_space = text[-1].isspace()

    def space(self) -> None:
        """A gap between two words, if words stand on both sides."""
        self._owes_space = True

    def mark(self, name: str) -> None:
        """As `ScriptBuilder.mark`."""
        self._builder.mark(name)

    def pause(self, seconds: float) -> None:
        self._builder.pause(seconds)
        self._owes_space = True

    def begin_chapter(self, chapter_id: str, title: str) -> None:
        self._builder.begin_chapter(chapter_id, title)
        self._has_text = self._owes_space = False

    def begin_block(self, kind: BlockKind) -> None:
        self._builder.begin_block(kind)
        self._has_text = self._owes_space = False

    @property
    def ends_clause(self) -> bool:
        """Whether a mark ends what was said last."""
        return self._last in _CLAUSE_MARKS

    def end_line(self) -> None:
        """A line of verse ends, or of a heading; the next one is of the same kind."""
        self._builder.end_line()
        self._has_text = self._owes_space = False

    def end_paragraph(self) -> None:
        self._builder.end_paragraph()
        self._has_text = self._owes_space = False

    def end_block(self) -> None:
        self._builder.end_block()
        self._has_text = self._owes_space = False
