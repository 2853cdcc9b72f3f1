"""Runs of letters to rows of a page: what stands at one height, from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reading.documents.page import raised
from reading.documents.pdf.runs import PdfPage, Run, unspaced

WIDE_GAP = 0.75
"""Of the letters' size: more than a space, also in a line that was stretched."""

CELL_GAP = 2.0
"""Of the letters' size: between cells of a table."""

_SAME_HEIGHT = 0.3
_SPACE = 0.15
_RAISED_SIZE = 0.88
_LARGE = 1.8
_MOST_INITIAL = 2
_NOTE_MARKS = "*†‡§¶"
_UNITS = frozenset({"m", "cm", "mm", "km", "dm", "ft", "in", "yd", "mi", "s", "kg"})


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A row of a page, or what a column has of it. is_table: cells stand in it, with gaps between them."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    page: int
    is_bold: bool = False
    is_table: bool = False

    @property
    def letter_width(self) -> float:
        return (self.right - self.left) / max(1, len(self.text))


@dataclass(frozen=True, slots=True)
class Row:
    """Runs at one height, from left to right; at least one."""

    runs: tuple[Run, ...]
    page: int

    @property
    def baseline(self) -> float:
        return self.runs[0].baseline

    @property
    def line(self) -> PdfLine:
        parts: list[str] = []
        gaps = 0
        for before, run in zip((None, *self.runs), self.runs, strict=False):
            gap = 0.0 if before is None else (run.left - before.right) / max(run.size, before.size)
            gaps += gap > CELL_GAP
            if before is not None and (gap > _SPACE or (run.follows_space and not run.shift)):
                parts.append(" ")
            parts.append(_said(run, before))
        length = sum(len(run.text) for run in self.runs)
        return PdfLine(
            text=" ".join("".join(parts).split()),
            left=self.runs[0].left,
            right=max(run.right for run in self.runs),
            baseline=self.runs[-1].baseline,
            size=_common_size(self.runs),
            page=self.page,
            is_bold=sum(len(run.text) for run in self.runs if run.is_bold) > 0.8 * length,
            is_table=gaps > 1,
        )

    def pieces(self) -> Iterator[tuple[Run, ...]]:
        """What gaps divide that are wider than spaces."""
        open_runs = [self.runs[0]]
        for before, run in pairwise(self.runs):
            if run.left - before.right > WIDE_GAP * max(run.size, before.size):
                yield tuple(open_runs)
                open_runs = []
            open_runs.append(run)
        yield tuple(open_runs)


def rows_of(page: PdfPage) -> list[Row]:
    """From the top of the page to its foot."""
    runs = sorted(_levelled(page.runs), key=lambda run: -run.baseline)
    rows: list[list[Run]] = []
    for run in runs:
        if rows and rows[-1][0].baseline - run.baseline <= _SAME_HEIGHT * min(run.size, rows[-1][0].size):
            rows[-1].append(run)
        else:
            rows.append([run])
    made = [Row(tuple(unspaced(sorted(row, key=lambda run: run.left))), page.index) for row in rows]
    return list(_with_initials(made))


def _levelled(runs: Sequence[Run]) -> Iterator[Run]:
    """What is raised or lowered stands on the line of what it follows, or of what follows it, as a note's mark does."""
    last: Run | None = None
    for index, run in enumerate(runs):
        following = runs[index + 1] if index + 1 < len(runs) else None
        if last is not None and (shift := _shift(last, run, run.left - last.right)):
            yield replace(run, baseline=last.baseline, shift=shift)
        elif following is not None and (shift := _shift(following, run, following.left - run.right)):
            yield replace(run, baseline=following.baseline, shift=shift)
        else:
            last = run
            yield run


def _shift(normal: Run, run: Run, gap: float) -> int:
    """gap: between the two."""
    if normal.size > _LARGE * run.size and not run.text.isdigit():
        return 0  # the first letter of a chapter, and the first of the lines beside it
    rise = run.baseline - normal.baseline
    is_small = run.size < _RAISED_SIZE * normal.size
    if not is_small or not 0.1 * normal.size <= abs(rise) <= 0.75 * normal.size:
        return 0
    is_beside = -0.3 * normal.size < gap < normal.size
    return (1 if rise > 0 else -1) if is_beside else 0


def _said(run: Run, before: Run | None) -> str:
    """Nothing for a note's mark behind a word; a power as one writes it."""
    if run.shift <= 0 or before is None:
        return run.text
    return "" if _is_note_mark(run.text, before.text) else raised(run.text) or ""


def _is_note_mark(text: str, before: str) -> bool:
    """Behind a word of some letters or a mark of punctuation: behind a number or a single letter it is a power."""
    if not all(letter.isdigit() or letter in _NOTE_MARKS or letter in "," for letter in text):
        return False
    if before[-1:].isalpha():
        return len(before) > 1 and before not in _UNITS
    return not before[-1:].isdigit()


def _common_size(runs: Sequence[Run]) -> float:
    """Of most letters."""
    counts: dict[float, int] = {}
    for run in runs:
        if not run.shift:
            counts[round(run.size, 1)] = counts.get(round(run.size, 1), 0) + len(run.text)
    return max(counts, key=lambda size: (counts[size], size)) if counts else runs[0].size


def _with_initials(rows: Sequence[Row]) -> Iterator[Row]:
    """A large first letter that stands beside several lines goes to the topmost of them."""
    initials = [(row.runs[0], index) for index, row in enumerate(rows) if _is_initial(row)]
    taken: dict[int, list[Run]] = {}
    moved: dict[int, Run] = {}
    for initial, index in initials:
        target = _topmost_beside(rows, index, initial)
        if target is not None:
            taken.setdefault(target, []).append(initial)
            moved[index] = initial
    for index, row in enumerate(rows):
        runs = tuple(run for run in row.runs if run is not moved.get(index))
        own = taken.get(index, ())
        if own:
            first = replace(runs[0], follows_space=False)
            lead = replace(own[0], baseline=first.baseline, size=first.size, right=first.left)
            runs = (lead, first, *runs[1:])
        if runs:
            yield Row(runs, row.page)


def _is_initial(row: Row) -> bool:
    first = row.runs[0]
    others = [run.size for run in row.runs[1:]]
    return (
        len(first.text) <= _MOST_INITIAL and first.text.isalpha() and (not others or first.size > _LARGE * max(others))
    )


def _topmost_beside(rows: Sequence[Row], index: int, initial: Run) -> int | None:
    """Of the few rows above, the highest that starts after the letter and below its top."""
    found = None
    for above in range(index - 1, max(-1, index - 6), -1):
        first = rows[above].runs[0]
        is_beside = -0.5 * first.size < first.left - initial.right < 2 * first.size
        is_low = first.baseline < initial.baseline + 0.8 * initial.size
        if is_beside and is_low and initial.size > _LARGE * first.size:
            found = above
    return found
