"""Which paragraphs are headings, by the size and weight of their letters, and how they rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reading.documents.pdf.paragraphs import BULLET, PdfParagraph, ends_sentence
from reading.documents.plain.numbering import is_named, read_label

LARGER = 1.12
"""Than the text's letters."""

MOST_CHARS = 200
MOST_LINES = 4
MOST_LEVELS = 6

_DASHES = "–—"


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, or the heading of a level from 1 on; 0 for a paragraph. lines: of its text."""

    lines: tuple[str, ...]
    breaks: frozenset[int]
    level: int
    page: int
    top: float


def body_size(sizes: Iterable[tuple[float, int]]) -> float:
    """Of most letters. sizes: each with a number of letters."""
    counts = Counter[float]()
    for size, number in sizes:
        counts[round(size * 2) / 2] += number
    return max(counts, key=lambda size: (counts[size], size)) if counts else 1.0


def passages_of(paragraphs: Sequence[PdfParagraph], body: float) -> list[Passage]:
    levels = _levels(paragraphs, body)
    passages: list[Passage] = []
    for paragraph in paragraphs:
        made = _passage(paragraph, levels.get(_rank(paragraph), 0) if _is_heading(paragraph, body) else 0)
        if passages and _is_number_of(passages[-1], made):
            passages[-1] = _merged(passages[-1], made)
        else:
            passages.append(made)
    return passages


def _passage(paragraph: PdfParagraph, level: int) -> Passage:
    first, *others = (line.text for line in paragraph.lines)
    # A list's mark is seen, and not read; a dash may start direct speech.
    lines = (first if first[0] in _DASHES else _unmarked(first), *others)
    breaks = frozenset[int]() if level else paragraph.breaks
    return Passage(lines, breaks, level, paragraph.first.page, paragraph.first.baseline + paragraph.size)


def _unmarked(text: str) -> str:
    found = BULLET.match(text)
    return text if found is None else text[found.end() :]


def _levels(paragraphs: Sequence[PdfParagraph], body: float) -> dict[float, int]:
    ranks = {_rank(paragraph) for paragraph in paragraphs if _is_heading(paragraph, body)}
    return {rank: min(MOST_LEVELS, place) for place, rank in enumerate(sorted(ranks, reverse=True), 1)}


def _rank(paragraph: PdfParagraph) -> float:
    """By size; of one size, bold is above."""
    return round(paragraph.size) + (0.1 if paragraph.is_bold else 0.0)


def _is_heading(paragraph: PdfParagraph, body: float) -> bool:
    text = " ".join(line.text for line in paragraph.lines)
    if len(text) > MOST_CHARS or len(paragraph.lines) > MOST_LINES or not any(letter.isalnum() for letter in text):
        return False
    if any(line.is_table for line in paragraph.lines):
        return False
    if paragraph.size >= LARGER * body:
        return True
    label = read_label(text)
    is_labelled = is_named(text) or (label is not None and not label.is_bare)
    is_bold = paragraph.is_bold and paragraph.size > 0.95 * body and len(paragraph.lines) < MOST_LINES
    return is_labelled or (is_bold and not ends_sentence(text) and not text.endswith((",", ";")))


def _is_number_of(before: Passage, passage: Passage) -> bool:
    """ "CHAPTER II" goes with the title below it."""
    label = read_label(" ".join(before.lines)) if before.level and passage.level else None
    if label is None or label.title or before.page != passage.page:
        return False
    return read_label(" ".join(passage.lines)) is None


def _merged(number: Passage, title: Passage) -> Passage:
    lines = (*number.lines, *title.lines)
    return Passage(lines, frozenset({len(number.lines)}), min(number.level, title.level), number.page, number.top)
