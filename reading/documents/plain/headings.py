"""Where the chapters of a text file begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from reading.documents.plain.contents import keys_of
from reading.documents.plain.numbering import CHAPTERS, Label, is_named, is_part, read_label
from reading.documents.plain.paragraphs import TextLine, TextParagraph

MOST_LINES = 3
LEAST_CHAPTER = 300
"""Characters between bare numbers, at the median: what is closer is a list."""

_QUOTES = "\"'“‘«„"
_SENTENCE_MARKS = (".", ",", ";", ":", "!", "?", "-", "—", '"', "”", "’", "'", "»")


@dataclass(frozen=True, slots=True)
class Heading:
    """lines: what is spoken of it, each by itself. begins: the chapter's title, "" for a section of one."""

    lines: tuple[TextLine, ...]
    begins: str

    @property
    def start(self) -> int:
        return self.lines[0].start

    @property
    def end(self) -> int:
        return self.lines[-1].end


@dataclass(frozen=True, slots=True)
class _Candidate:
    """at: index of its paragraph. lines: of the paragraph, those that are the heading."""

    at: int
    label: Label | None
    lines: tuple[TextLine, ...]


def find_headings(paragraphs: Sequence[TextParagraph], contents: frozenset[str]) -> list[Heading]:
    """In order. contents: what a table of contents calls the chapters."""
    candidates = list(_candidates(paragraphs, contents))
    bare = _numbered_runs([each for each in candidates if each.label is not None and each.label.is_bare])
    firm = list(_firm(candidates, contents))
    if not firm and not bare:
        return []
    divides = not any(_is_chapter(each) for each in firm)
    chosen = sorted({each.at: each for each in (*bare, *firm)}.values(), key=lambda each: each.at)
    begins = {each.at for each in (*firm, *(bare if divides else ()))}
    return _merged(list(_headings(paragraphs, chosen, begins)), paragraphs)


def _candidates(paragraphs: Sequence[TextParagraph], contents: frozenset[str]) -> Iterator[_Candidate]:
    for at, paragraph in enumerate(paragraphs):
        first, text = paragraph.lines[0], paragraph.text
        if len(paragraph.lines) <= MOST_LINES and (label := read_label(text)):
            yield _Candidate(at, label, _one_line(paragraph) if _has_title(first) else paragraph.lines)
        elif (label := read_label(first.text)) and not label.is_bare and (not label.title or first.text.isupper()):
            yield _Candidate(at, label, _heading_lines(paragraph))
        elif len(paragraph.lines) <= MOST_LINES and (is_named(text) or _is_listed_title(text, contents)):
            yield _Candidate(at, None, paragraph.lines)


def _is_chapter(candidate: _Candidate) -> bool:
    """One of many. A preface or an epilogue says nothing about what bare numbers between them are."""
    label = candidate.label
    if label is None:
        return not is_named(" ".join(line.text for line in candidate.lines))
    return label.kind in CHAPTERS or label.is_bare


def _one_line(paragraph: TextParagraph) -> tuple[TextLine, ...]:
    """A title that goes on in the next line."""
    return (TextLine(paragraph.start, paragraph.end, paragraph.text),)


def _has_title(line: TextLine) -> bool:
    label = read_label(line.text)
    return label is not None and bool(label.title)


def _is_listed_title(text: str, contents: frozenset[str]) -> bool:
    return (
        bool(contents) and text[0] not in _QUOTES and not text.endswith((",", ";")) and bool(keys_of(text) & contents)
    )


def _firm(candidates: Sequence[_Candidate], contents: frozenset[str]) -> Iterator[_Candidate]:
    """Those that need no others to bear them out. A title that the contents name comes once, with its number if any."""
    firm = [each for each in candidates if _is_firm(each, contents)]
    used = frozenset().union(*(_keys(each) for each in firm))
    yield from firm
    untitled = {each.at: each for each in candidates if each.label is not None and not each.label.title}
    for each in candidates:
        if each.label is None and not _keys(each) & used:
            used |= _keys(each)
            number = untitled.get(each.at - 1)
            yield each if number is None else _Candidate(number.at, number.label, (*number.lines, *each.lines))


def _is_firm(candidate: _Candidate, contents: frozenset[str]) -> bool:
    return candidate.label is not None and (not candidate.label.is_bare or bool(_keys(candidate) & contents))


def _keys(candidate: _Candidate) -> frozenset[str]:
    return keys_of(" ".join(line.text for line in candidate.lines))


def _heading_lines(paragraph: TextParagraph) -> tuple[TextLine, ...]:
    """Of a paragraph that begins with a chapter's number and goes on with its title, or with the chapter."""
    if len(paragraph.lines) <= MOST_LINES and all(_is_title(line.text) for line in paragraph.lines[1:]):
        return paragraph.lines
    count = 1
    while count < MOST_LINES and count < len(paragraph.lines) and paragraph.lines[count].text.isupper():
        count += 1
    return paragraph.lines[:count]


def _numbered_runs(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Those that count from 1 on, of the way of counting that comes first, with text between them."""
    runs: list[list[_Candidate]] = []
    kind = ""
    for each in candidates:
        if each.label is None:
            continue
        if each.label.number == 1 and each.label.kind == (kind or each.label.kind):
            kind = each.label.kind
            runs.append([each])
        elif runs and (last := runs[-1][-1].label) and each.label.kind == kind and each.label.number == last.number + 1:
            runs[-1].append(each)
    kept = [each for run in runs if len(run) > 1 for each in run]
    gaps = [two.lines[0].start - one.lines[-1].end for one, two in pairwise(kept)]
    return kept if gaps and median(gaps) >= LEAST_CHAPTER else []


def _headings(
    paragraphs: Sequence[TextParagraph], chosen: Sequence[_Candidate], chapters: set[int]
) -> Iterator[Heading]:
    taken = {each.at for each in chosen}
    for each in chosen:
        label, lines = each.label, each.lines
        behind = each.at + 1
        is_bare = label is not None and not label.title and lines == paragraphs[each.at].lines[:1]
        if is_bare and len(paragraphs[each.at].lines) == 1 and behind < len(paragraphs) and behind not in taken:
            lines += _title_lines(paragraphs[behind])
        yield Heading(lines, _chapter_title(lines) if each.at in chapters else "")


def _title_lines(paragraph: TextParagraph) -> tuple[TextLine, ...]:
    """The paragraph behind a number, if it is a title."""
    if len(paragraph.lines) == 1 and _is_title(paragraph.text):
        return paragraph.lines
    is_capitals = len(paragraph.lines) <= 2 and paragraph.text.isupper() and len(paragraph.text) <= 100
    return paragraph.lines if is_capitals else ()


def _is_title(text: str) -> bool:
    if text.isupper():
        return len(text) <= 100
    return len(text) <= 70 and text[0].isupper() and not text.endswith(_SENTENCE_MARKS)


def _chapter_title(lines: Sequence[TextLine]) -> str:
    """On one line; text on separate lines is distinguished."""
    texts = [" ".join(line.text.split()).strip("_= ") for line in lines]
    title = texts[0]
    for text in texts[1:]:
        title = f"{title} {text}" if title.endswith((".", ":", "-", "—")) else f"{title}: {text}"
    return title.rstrip(".: ") or texts[0]


def _merged(headings: Sequence[Heading], paragraphs: Sequence[TextParagraph]) -> list[Heading]:
    """A part directly followed by its first chapter is no separate chapter."""
    merged: list[Heading] = []
    starts = {paragraph.end: following.start for paragraph, following in pairwise(paragraphs)}
    for each in headings:
        last = merged[-1] if merged else None
        if each.begins and last and last.begins and is_part(last.lines[0].text) and starts.get(last.end) == each.start:
            merged[-1] = Heading((*last.lines, *each.lines), f"{last.begins}, {each.begins}")
        else:
            merged.append(each)
    return merged
