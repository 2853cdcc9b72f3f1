"""The figures of the pages: in a table made of records, or in the text with where they are from."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from generators.files import ROOT
from generators.record_tables import FRONT, RECORDS, Measured, front_table, read_records, record_tables, short_table
from generators.result_page import PAGE as RESULTS_PAGE
from tests.test_pages import pages

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
SPEED = re.compile(
    r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)"
    r"(?=(?:\s(?:to|and|or|/)\s\d[\d,.]*){0,4}\s(?:ms\b|µs\b|(?:×|times)\sreal\stime|(?:[a-z-]+\s){0,4}a\ssecond\b))"
)
FINDINGS = Path("benchmarks/results/findings.toml")
NOT_WRITTEN_HERE = {Path("CHANGELOG.md"), RESULTS_PAGE}
"""What a release had, and what a program makes of results."""
SECTION = Measured(
    what="streams", figure="1,000", more="on paper", on="one desk", day=date(2026, 11, 26), commit="abc", by="hand"
)


def figures_of(page: str) -> set[str]:
    for pattern in NO_FIGURES:
        page = re.sub(pattern, " ", page, flags=re.DOTALL)
    return {each.rstrip(",") for each in NUMBER.findall(page)}


def speeds_of(page: str) -> set[str]:
    """Of its figures those with a unit of speed: what a machine measured, or a constant of the model."""
    for pattern in NO_FIGURES:
        page = re.sub(pattern, " ", page, flags=re.DOTALL)
    return {each[1].rstrip(",") for each in SPEED.finditer(page)}


def known_figures() -> str:
    records = read_records()
    measured = [f"{each.what} {each.figure}" for each in records.measured]
    return "\n".join([*measured, *(each.figure for each in records.told)])


def all_known_figures() -> str:
    more = [each.more for each in read_records().measured]
    return "\n".join([known_figures(), *more, (ROOT / FINDINGS).read_text()])


def test_the_pages_have_the_tables_of_the_records() -> None:
    for path, page in record_tables({}).items():
        assert page == (ROOT / path).read_text(), path


def test_the_first_page_has_no_figure_of_which_nobody_knows_where_it_is_from() -> None:
    known = set(NUMBER.findall(known_figures()))

    assert figures_of((ROOT / FRONT).read_text()) <= known


@pytest.mark.parametrize("page", [each for each in pages() if each not in NOT_WRITTEN_HERE], ids=str)
def test_no_page_has_a_speed_of_which_nobody_knows_where_it_is_from(page: Path) -> None:
    known = set(NUMBER.findall(all_known_figures()))

    assert speeds_of((ROOT / page).read_text()) <= known


def test_no_record_is_of_a_figure_that_no_page_has_any_more() -> None:
    text = " ".join(word for page in pages() for word in (ROOT / page).read_text().split())

    assert [each.figure for each in read_records().told if each.figure not in text] == []


def test_a_speed_is_a_figure_with_its_unit() -> None:
    page = (
        "40 to 60 ms, `9 ms`, 5 times real time, 850 clips a second, 3 pages; 1,077 / 3,698 seconds of audio a second."
    )

    assert speeds_of(page) == {"40", "60", "5", "850", "1,077", "3,698"}


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
