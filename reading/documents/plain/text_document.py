"""A text file to a script: the book without its frame and litter, its chapters found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from reading.cleaning.cleaning import without_litter
from reading.documents.chapters import ChapterChoice
from reading.documents.plain.contents import find_contents
from reading.documents.plain.edits import Edit, edited
from reading.documents.plain.gutenberg import unframed
from reading.documents.plain.headings import Heading, find_headings
from reading.documents.plain.page_numbers import find_page_numbers
from reading.documents.plain.paragraphs import TextParagraph, is_unwrapped, read_lines, read_paragraphs
from reading.documents.plain.plays import play_script
from reading.documents.plain.transcribers import find_transcribers_notes
from reading.script.dialogue import dialogue_script
from reading.script.left_out import LeftOutList, quoted
from reading.script.script import Block, BlockKind, Script, ScriptChapter, VoicedSpan, Voicing
from rhapsode.contract.jobs.input import Images

MOST_CHARS = 5_000
"""Of one remark; a bracket that is not closed by then was meant otherwise."""

_OPEN = re.compile(
    r"\[(?P<kind>Footnote|Illustrations?|Transcriber['’]?s?['’]? Notes?|Sidenote|Blank Page|Decoration|Frontispiece)"
    r"(?:[ \t][\w*†]{1,8})?[ \t]{0,4}(?P<colon>:?)",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True)
class _HeadingLine:
    """A line of a heading, in the script's text."""

    start: int
    end: int


def text_script(text: str, include: Sequence[str], cast: Sequence[str] = (), images: Images = Images.SKIP) -> Script:
    """cast: names that may begin a line as `NAME:`. Raises `DocumentError`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    book = unframed(text)
    left_out = LeftOutList()
    if len(book.text) < len(text):
        left_out.add("frame of Project Gutenberg", quoted(text))
    cleaned, contents = _cleaned(book.text, images, left_out)
    headings = find_headings(read_paragraphs(cleaned), contents)
    kept, pieces, chapters = _chosen(cleaned, headings, include)
    script = play_script(kept, cast) or dialogue_script(kept, cast)
    script = replace(script, blocks=tuple(_divided(script.blocks, pieces)), chapters=chapters)
    script = replace(script, title=book.title, author=book.author, language=book.language, left_out=left_out.all)
    return without_litter(script, is_book=True)


def _cleaned(text: str, images: Images, left_out: LeftOutList) -> tuple[str, frozenset[str]]:
    """Without remarks, notes, page numbers and the table of contents; and what that calls the chapters."""
    remarks = list(find_remarks(text, images))
    # Of a picture whose words stay only the bracket goes.
    _list_edits(
        "remark in brackets",
        text,
        [each for each in remarks if text[each[0]] == "[" and text[each[1] - 1] == "]"],
        left_out,
    )
    text = edited(text, remarks)
    paragraphs = read_paragraphs(text)
    found = {
        "note": find_notes(text, paragraphs),
        "page number": find_page_numbers(text, paragraphs),
        "transcriber's note": list(find_transcribers_notes(text, paragraphs)),
    }
    for kind, edits in found.items():
        _list_edits(kind, text, edits, left_out)
    text = edited(text, chain.from_iterable(found.values()))
    paragraphs = read_paragraphs(text)
    contents = find_contents(paragraphs)
    if contents is None:
        return _with_paragraphs(text), frozenset()
    start, end = paragraphs[contents.first].start, paragraphs[contents.last].end
    left_out.add("table of contents", quoted(text[start:end]))
    return _with_paragraphs(text[:start] + text[end:].lstrip("\n")), contents.keys


def _list_edits(kind: str, text: str, edits: Iterable[Edit], left_out: LeftOutList) -> None:
    for start, end, _ in edits:
        if text[start:end].strip(" []\n"):
            left_out.add(kind, quoted(text[start:end]))


def _with_paragraphs(text: str) -> str:
    """A text in long lines with an empty one behind each, so that each is a paragraph."""
    lines = list(read_lines(text))
    return "\n\n".join(line.text for line in lines if line.text) if is_unwrapped(lines) else text


def _chosen(
    text: str, headings: Sequence[Heading], include: Sequence[str]
) -> tuple[str, list[_HeadingLine], tuple[ScriptChapter, ...]]:
    """The text of the chapters that are wanted, where its headings stand, and where its chapters begin."""
    choice = ChapterChoice(include)
    parts: list[str] = []
    pieces: list[_HeadingLine] = []
    chapters: list[ScriptChapter] = []
    shift, at = 0, 0
    for heading in (*headings, None):
        end = len(text) if heading is None else heading.start
        if choice.is_wanted:
            parts.append(text[at:end])
        else:
            shift += end - at
        at = end
        if heading is None:
            break
        if heading.begins:
            number = choice.begin()
            if choice.is_wanted:
                chapters.append(ScriptChapter(number, heading.begins, heading.start - shift))
        if choice.is_wanted:
            pieces += [_HeadingLine(line.start - shift, line.end - shift) for line in heading.lines]
    choice.check()
    return "".join(parts), pieces, tuple(chapters)


def _divided(blocks: Sequence[Block], headings: Sequence[_HeadingLine]) -> Iterator[Block]:
    """The blocks, with each heading's line as a separate block in the job's voice."""
    cuts = iter((*headings, None))
    heading = next(cuts)
    for block in blocks:
        start = block.start
        while heading is not None and heading.start < block.end:
            if start < heading.start:
                yield Block(block.kind, (replace(block.spans[0], start=start, end=heading.start),))
            start = min(heading.end, block.end)
            yield Block(BlockKind.HEADING, (VoicedSpan(heading.start, start, Voicing()),))
            heading = next(cuts)
        if start < block.end:
            yield Block(block.kind, (replace(block.spans[0], start=start, end=block.end),))


_NOTE = re.compile(r"(\[(?:\d{1,3}|[*†‡§]{1,3}|[A-Z])\])(?:[ \t]|:)")
_MARK = re.compile(r"(?<=[^\s\[(])\[(?:\d{1,3}|[*†‡§]{1,3}|[A-Z])\]")
_HEADINGS = frozenset({"footnotes", "notes", "endnotes", "footnote"})


def find_notes(text: str, paragraphs: Sequence[TextParagraph]) -> list[Edit]:
    marks = {match[0] for match in _MARK.finditer(text)}
    if not marks:
        return []
    notes = [index for index, each in enumerate(paragraphs) if _is_note(each, marks)]
    headed = {index - 1 for index in notes if index and _is_heading(paragraphs[index - 1])}
    return [(paragraphs[index].start, paragraphs[index].end, "") for index in sorted({*notes, *headed})]


def _is_note(paragraph: TextParagraph, marks: set[str]) -> bool:
    found = _NOTE.match(paragraph.lines[0].text)
    return found is not None and found[1] in marks


def _is_heading(paragraph: TextParagraph) -> bool:
    return paragraph.text.rstrip(".: ").casefold() in _HEADINGS


def find_remarks(text: str, images: Images) -> Iterator[Edit]:
    """Edits that take them out; with `alt` a picture's words stay."""
    closings = _closings(text) if _OPEN.search(text) else {}
    at = 0
    while (opened := _OPEN.search(text, at)) is not None:
        end = closings.get(opened.start())
        at = opened.end() if end is None else end
        if end is None:
            continue
        if images is Images.ALT and opened["colon"] and opened["kind"].casefold().startswith("illus"):
            yield opened.start(), opened.end(), ""
            yield end - 1, end, ""
        else:
            yield opened.start(), end, ""


def _closings(text: str) -> dict[int, int]:
    """Where each bracket begins that is closed soon enough, and the end of its other half."""
    closings: dict[int, int] = {}
    open_at: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "[":
            open_at.append(match.start())
        elif open_at and match.end() - (start := open_at.pop()) <= MOST_CHARS:
            closings[start] = match.end()
    return closings
