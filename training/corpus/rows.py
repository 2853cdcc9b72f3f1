"""The corpus as a file: one `id<TAB>split<TAB>text<TAB>spoken` line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.dimensions import SPLITS
from training.steps import Unusable

_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """text: what the talker will read, with the marks that real texts have; spoken: the same words as the voices take
    them. Both have the same number of blank-separated words."""

    number: int
    split: str
    text: str
    spoken: str


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    lines = (f"{row.number}\t{row.split}\t{row.text}\t{row.spoken}\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """Raises Unusable naming the line that is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]


def spoken_words(text: str) -> list[str]:
    """The words that a voice makes tokens of; a dash without blanks divides, too."""
    return re.findall(r"[^\s—]+—?", text)


def _row(line: str, place: str) -> Row:
    fields = line.split("\t")
    if len(fields) != _FIELDS or not fields[0].isdecimal() or fields[1] not in SPLITS:
        raise Unusable(f"{place}: a row is number, split ({', '.join(SPLITS)}), text and spoken text, divided by tabs")
    number, split, text, spoken = fields
    return Row(int(number), split, text, spoken)
