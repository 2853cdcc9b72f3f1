"""A script put together piece by piece, in reading order."""

from __future__ import annotations

from dataclasses import replace

from reading.script.left_out import LeftOutList
from reading.script.script import Block, BlockKind, Mark, Replacement, Script, ScriptChapter, VoicedSpan, Voicing

BLOCK_END = "\n\n"
"""Between blocks, so that the text alone reads well too."""


class ScriptBuilder:
    """Blocks open by themselves with the first text; offsets are counted here and nowhere else."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._kind = BlockKind.PARAGRAPH
        self._spans: list[VoicedSpan] = []
        self._blocks: list[Block] = []
        self._replacements: list[Replacement] = []
        self._chapters: list[ScriptChapter] = []
        self._marks: list[Mark] = []
        self._new_marks: list[Mark] = []
        self._italics: list[tuple[int, int]] = []
        self.left_out = LeftOutList()
        self.repairs = LeftOutList()

    def begin_chapter(self, chapter_id: str, title: str) -> None:
        """What follows belongs to it; inside a block, the rest of the block does."""
        kind = self._kind
        self.end_block()
        self._kind = kind
        self._chapters.append(ScriptChapter(chapter_id, title, self._length))

    def begin_block(self, kind: BlockKind) -> None:
        self.end_block()
        self._kind = kind

    def say(self, text: str, voicing: Voicing = Voicing()) -> None:  # noqa: B008 - frozen
        """Add text to the open block."""
        if not text:
            return
        self._place_marks(is_end=False)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        last = self._spans[-1] if self._spans else None
        if last is not None and last.voicing == voicing and last.pause_after_s is None:
            self._spans[-1] = VoicedSpan(last.start, self._length, voicing)
        else:
            self._spans.append(VoicedSpan(start, self._length, voicing))

    def italic(self, length: int) -> None:
        """So many of the last characters are in italics. A stretch goes on behind one space."""
        start = self._length - length
        if self._italics and start - self._italics[-1][1] <= 1:
            start, _ = self._italics.pop()
        self._italics.append((start, self._length))

    def say_as(self, text: str, spoken: str, voicing: Voicing = Voicing()) -> None:  # noqa: B008 - frozen
        """Add text that is spoken differently from how it is written."""
        start = self._length
        self.say(text, voicing)
        if text:
            self._replacements.append(Replacement(start, self._length, spoken))

    def mark(self, name: str) -> None:
        """Of what is said next, or if a pause or the end comes before that, of the end of what was said last."""
        self._new_marks.append(Mark(name, self._length))

    def pause(self, seconds: float) -> None:
        """After what was said last, also in an earlier block; several add up. Before the first word: nothing."""
        self._place_marks(is_end=True)
        if self._spans:
            self._spans[-1] = _with_pause(self._spans[-1], seconds)
        elif self._blocks:
            block = self._blocks[-1]
            spans = (*block.spans[:-1], _with_pause(block.spans[-1], seconds))
            self._blocks[-1] = Block(block.kind, spans)

    def end_block(self) -> None:
        """The next text starts a new paragraph."""
        if self._spans:
            last = self._spans[-1]
            self._parts.append(BLOCK_END)
            self._length += len(BLOCK_END)
            self._spans[-1] = VoicedSpan(last.start, self._length, last.voicing, last.pause_after_s)
            self._blocks.append(Block(self._kind, tuple(self._spans)))
        self._spans = []
        self._kind = BlockKind.PARAGRAPH

    def end_line(self) -> None:
        """As `end_block`, inside a paragraph or a heading."""
        kind = self._kind
        if kind is BlockKind.PARAGRAPH:
            self._kind = BlockKind.LINE
        self.end_block()
        self._kind = kind

    def end_paragraph(self) -> None:
        """As `end_block`; if its sentences or lines were separate blocks, the last of them ends the paragraph."""
        self.end_block()
        if self._blocks and self._blocks[-1].kind in (BlockKind.SENTENCE, BlockKind.LINE):
            self._blocks[-1] = Block(BlockKind.PARAGRAPH, self._blocks[-1].spans)

    def build(self, title: str = "", author: str = "", language: str = "", cover: bytes | None = None) -> Script:
        self._place_marks(is_end=True)
        self.end_block()
        return Script(
            text="".join(self._parts),
            blocks=tuple(self._blocks),
            replacements=tuple(self._replacements),
            chapters=tuple(self._chapters),
            title=title,
            author=author,
            language=language,
            cover=cover,
            left_out=self.left_out.all,
            marks=tuple(self._marks),
            repairs=self.repairs.all,
            italics=tuple(self._italics),
        )

    def _place_marks(self, *, is_end: bool) -> None:
        self._marks += (replace(mark, is_end=is_end) for mark in self._new_marks)
        self._new_marks.clear()


def _with_pause(span: VoicedSpan, seconds: float) -> VoicedSpan:
    return VoicedSpan(span.start, span.end, span.voicing, (span.pause_after_s or 0.0) + seconds)
