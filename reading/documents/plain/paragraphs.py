"""Lines and paragraphs of a text file, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONG_LINE = 200
"""No typewriter and no e-mail wraps later: a line of more characters is a paragraph."""

_EAST_ASIAN_ENDS = ("。", "！", "？", "」", "』", "。”", "！”", "？”")


@dataclass(frozen=True, slots=True)
class TextLine:
    """[start, end) without the line's end. text: without blanks at its edges."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class TextParagraph:
    """Lines without a blank one between them; at least one."""

    lines: tuple[TextLine, ...]

    @property
    def first(self) -> TextLine:
        return self.lines[0]

    @property
    def start(self) -> int:
        return self.first.start

    @property
    def end(self) -> int:
        return self.lines[-1].end

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


def read_lines(text: str) -> Iterator[TextLine]:
    start = 0
    for line in text.split("\n"):
        yield TextLine(start, start + len(line), line.strip())
        start += len(line) + 1


def read_paragraphs(text: str) -> list[TextParagraph]:
    """In a text that is not wrapped every line is a paragraph."""
    lines = list(read_lines(text))
    if is_unwrapped(lines):
        return [TextParagraph((line,)) for line in lines if line.text]
    paragraphs: list[TextParagraph] = []
    open_lines: list[TextLine] = []
    for line in lines:
        if line.text:
            open_lines.append(line)
        elif open_lines:
            paragraphs.append(TextParagraph(tuple(open_lines)))
            open_lines = []
    if open_lines:
        paragraphs.append(TextParagraph(tuple(open_lines)))
    return paragraphs


def is_unwrapped(lines: Sequence[TextLine]) -> bool:
    """Whether most of the text stands in lines as long as paragraphs, or as East Asian ones, in lines of sentences."""
    total = sum(len(line.text) for line in lines)
    if sum(len(line.text) for line in lines if line.text.endswith(_EAST_ASIAN_ENDS)) * 2 > total:
        return True
    return sum(len(line.text) for line in lines if len(line.text) > LONG_LINE) * 2 > total
