"""The figures of the first page: in a table made of records, or told elsewhere on it with where they are from."""

from __future__ import annotations

import re
from datetime import date

import pytest

from generators.files import ROOT
from generators.record_tables import FRONT, RECORDS, Measured, front_table, read_records, record_tables, short_table

NO_FIGURES = (
    r"```.*?```",  # what one types
    r"`[^`\n]*`",
    r"<!--.*?-->",
    r"<[^>]*>",
    r"\]\([^)]*\)",
    r"\b\d{4}-\d\d-\d\d\b",
    r"\b[A-Z][a-z]+ \d{4}\b",  # a month
    r"\bPython \d\.\d+",
    r"\b\w+ \d+\.\d+\.\d+",  # a release
    r"#\d+",
    r"\b12 Hz\b",  # the model family's name
)
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")
SECTION = Measured(
    what="streams", figure="1,000", more="on paper", on="one desk", day=date(2026, 11, 26), commit="abc", by="hand"
)


def figures_of(page: str) -> set[str]:
    for pattern in NO_FIGURES:
        page = re.sub(pattern, " ", page, flags=re.DOTALL)
    return {each.rstrip(",") for each in NUMBER.findall(page)}


def known_figures() -> str:
    records = read_records()
    measured = [f"{each.what} {each.figure}" for each in records.measured]
    return "\n".join([*measured, *(each.figure for each in records.told)])


def test_the_pages_have_the_tables_of_the_records() -> None:
    for path, page in record_tables({}).items():
        assert page == (ROOT / path).read_text(), path


def test_the_first_page_has_no_figure_of_which_nobody_knows_where_it_is_from() -> None:
    known = set(NUMBER.findall(known_figures()))

    assert figures_of((ROOT / FRONT).read_text()) <= known


def test_no_record_is_of_a_figure_that_the_first_page_has_no_more() -> None:
    page = " ".join((ROOT / FRONT).read_text().split())

    assert [each.figure for each in read_records().told if each.figure not in page] == []


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("One H200 speaks **1,833 seconds** (1.7B, 512 streams).", {"1,833", "512"}),
        ("In 9.3 s, 18 / 21 ms, 7.2 %.", {"9.3", "18", "21", "7.2"}),
        ("Python 3.11, botocore 1.44.5, #7781, 2026-08-17, [page](there.md#10-ms), `8765`", set[str]()),
    ],
)
def test_a_figure_is_a_number_that_was_measured(page: str, figures: set[str]) -> None:
    assert figures_of(page) == figures


def test_only_the_benchmarks_say_where_and_when() -> None:
    front = SECTION.model_copy(update={"front": True})

    assert list(front_table([front, SECTION]))[2:] == ["| streams | 1,000 |"]
    assert list(short_table([SECTION]))[2:] == [
        "| streams | 1,000; on paper | 2026-11-26, one desk, `abc`, by `hand` |"
    ]


def test_every_script_that_a_record_names_is_there() -> None:
    named = [each.by.split()[0] for each in read_records().measured if each.by.startswith("benchmarks/")]

    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert (ROOT / RECORDS).is_file()
