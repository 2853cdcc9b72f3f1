"""The script of a narration: any kind of input as one text and what is to be done with its stretches. Pure.

Offsets are code points into `text`. Blocks cover the text, and spans cover their block, both in order and without gaps.
Unspoken text (a blank line between blocks, a speaker's label) belongs to a span or has an empty replacement.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class BlockKind(enum.Enum):
    SENTENCE = "sentence"
    """Part of a paragraph whose writer said where it ends."""

    LINE = "line"
    """A line of verse, an address, or whatever else was broken before the width of the page."""

    PARAGRAPH = "paragraph"
    ENTRY = "entry"
    """One of a caller's list: no segment holds two of them, however short."""
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Voicing:
    """What a stretch is spoken with; the defaults are the job's own.

    speaker: a name of the cast. language: a language of the model. source_id: what the caller calls the entry. speed,
    gain_db: factor and gain applied after synthesis, in addition to those of the whole.
    """

    speaker: str = ""
    language: str = ""
    instructions: str | None = None
    seed: int | None = None
    source_id: str = ""
    speed: float = 1.0
    gain_db: float = 0.0


@dataclass(frozen=True, slots=True)
class VoicedSpan:
    """[start, end) of one voicing. pause_after_s: a pause that the input asks for, in place of the usual one."""

    start: int
    end: int
    voicing: Voicing = Voicing()
    pause_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A sentence, a paragraph, an entry or a heading. A segment crosses its end only if a paragraph is short."""

    kind: BlockKind
    spans: tuple[VoicedSpan, ...]

    @property
    def start(self) -> int:
        return self.spans[0].start

    @property
    def end(self) -> int:
        return self.spans[-1].end


@dataclass(frozen=True, slots=True)
class Replacement:
    """[start, end) is spoken as `spoken`; it lies within one span.

    written: what people are shown in its place, such as nothing for a page mark; None is what stands there.
    """

    start: int
    end: int
    spoken: str
    written: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptChapter:
    """A chapter begins at `start`. id: how a request can name it."""

    id: str
    title: str
    start: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A name for a moment: when the first word at or behind `position` begins, or the last one before it ends."""

    name: str
    position: int
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class LeftOutText:
    """What the input has and nobody will hear. kind: in words. first: the place of the first of so many."""

    kind: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Script:
    """language: as the document says (BCP 47), or "". cover: a picture's bytes as they came. left_out: in the order in
    which it was met.

    date: when the document was published, as it says: a year, a month of one, or a day. marks: in order.
    repairs: what is broken in the document and was skipped, mended or guessed.
    italics: [start, end) of what a document's markup sets in italics; none touch.
    """

    text: str
    blocks: tuple[Block, ...]
    replacements: tuple[Replacement, ...] = ()
    chapters: tuple[ScriptChapter, ...] = ()
    title: str = ""
    author: str = ""
    language: str = ""
    cover: bytes | None = None
    publisher: str = ""
    date: str = ""
    left_out: tuple[LeftOutText, ...] = ()
    marks: tuple[Mark, ...] = ()
    repairs: tuple[LeftOutText, ...] = ()
    italics: tuple[tuple[int, int], ...] = ()

    @property
    def voices(self) -> tuple[str, ...]:
        """Every voice that is named, in the order in which they speak first."""
        named = (span.voicing.speaker for block in self.blocks for span in block.spans)
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that is named."""
        named = (span.voicing.language for block in self.blocks for span in block.spans)
        return tuple(dict.fromkeys(name for name in named if name))


def plain_script(text: str) -> Script:
    """A text without any structure but its blank lines."""
    return Script(text, (Block(BlockKind.PARAGRAPH, (VoicedSpan(0, len(text)),)),) if text else ())
