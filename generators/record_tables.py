"""The tables of figures of the first page and of the benchmarks' page, from `benchmarks/results/records.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from generators.files import ROOT, Files

RECORDS = Path("benchmarks/results/records.toml")
FRONT = Path("README.md")
SHORT = Path("benchmarks/README.md")
BEGIN = "<!-- figures: made by `make generated` from benchmarks/results/records.toml -->"
END = "<!-- end of figures -->"


class Measured(BaseModel):
    """As the file itself says of each field."""

    model_config = ConfigDict(extra="forbid")

    what: str
    figure: str
    more: str = ""
    on: str
    day: date
    commit: str
    by: str
    front: bool = False


class Told(BaseModel):
    model_config = ConfigDict(extra="forbid")

    figure: str
    of: str


class Records(BaseModel):
    model_config = ConfigDict(extra="forbid")

    measured: list[Measured]
    told: list[Told]


def read_records() -> Records:
    return TypeAdapter(Records).validate_python(tomllib.loads((ROOT / RECORDS).read_text(encoding="utf-8")))


def record_tables(pages: Files) -> Files:
    """The pages with their tables. pages: what other generators have made of the same ones."""
    measured = read_records().measured
    tables = {FRONT: front_table(measured), SHORT: short_table(measured)}
    return {
        path: with_table(path, pages.get(path) or (ROOT / path).read_text(encoding="utf-8"), table)
        for path, table in tables.items()
    }


def with_table(path: Path, page: str, table: Iterator[str]) -> str:
    """Raises ValueError where the page has no marks."""
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no marks for the table of figures")
    return "\n".join([f"{before}{BEGIN}", "", *table, "", f"{END}{after}"])


def front_table(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| what | figure |"
    yield "|---|---|"
    yield from (f"| {each.what} | {each.figure} |" for each in measured if each.front)


def short_table(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| what | figure | measured |"
    yield "|---|---|---|"
    for each in measured:
        figure = f"{each.figure}; {each.more}" if each.more else each.figure
        yield f"| {each.what} | {figure} | {each.day}, {each.on}, `{each.commit}`, by `{each.by}` |"
