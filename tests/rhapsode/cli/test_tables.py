"""Tables for people, tabs for programs."""

from __future__ import annotations

import sys

import pytest

from rhapsode.cli.tables import print_rows

ROWS = (("job_1", "東京"), ("job_22", "a"))


def test_a_pipe_gets_tabs_and_no_heading(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("job", "title"), ROWS)

    assert capsys.readouterr().out == "job_1\t東京\njob_22\ta\n"


def test_a_terminal_gets_columns_under_a_heading(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    print_rows(("job", "title"), ROWS)
    print_rows(("job", "title"), ())

    assert capsys.readouterr().out == "job     title\njob_1   東京\njob_22  a\n"


def test_a_table_wider_than_the_terminal_has_a_line_for_each_cell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")

    print_rows(("job", "title"), (("job_1", "a"), ("job_2", "a long title")))

    assert capsys.readouterr().out == "job    job_1\ntitle  a\n\njob    job_2\ntitle  a long title\n"
