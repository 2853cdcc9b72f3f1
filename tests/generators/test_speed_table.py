"""The table of speeds says what the results do, figure by figure; the page has that of the results that there are."""

from __future__ import annotations

import pytest

from generators.files import ROOT
from generators.speed_table import BEGIN, END, PAGE, speed_table, table, with_table
from tests.rhapsode.bench.engine.measured import report


def test_every_figure_of_a_result_is_in_its_row() -> None:
    head, _, row, _, source, *_ = table([report()]).strip("\n").splitlines()

    assert head.startswith("| measured on | model |")
    assert row == (
        "| NVIDIA H100 | 1.7b | 1: 30, 256: 1,400 | alone 9 ms, beside 32 16 ms | 8 GiB: 12, 16 GiB: 80, 4 GiB: none |"
    )
    assert source == "By `rhapsode bench --price 2`, commit 0123456789ab."


def test_the_rest_of_the_page_is_left_as_it_is() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"

    renewed = with_table(page, [report()])

    assert renewed == f"before\n{BEGIN}\n{table([report()])}{END}\nafter\n"
    assert with_table(renewed, []) == f"before\n{BEGIN}\n{END}\nafter\n"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no marks"):
        with_table("a page", [])


def test_the_pages_table_equals_its_results() -> None:
    assert speed_table()[PAGE] == (ROOT / PAGE).read_text()
