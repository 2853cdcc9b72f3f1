"""The corpus as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.corpus.rows import Row, read_rows, spoken_words, write_rows
from training.steps import Unusable


def test_rows_come_out_as_they_went_in(tmp_path: Path) -> None:
    rows = [Row(0, "test", "“Well,” she said.", "Well, she said."), Row(7, "train", "Ende — gut.", "Ende, gut.")]

    write_rows(tmp_path / "corpus.tsv", rows)

    assert read_rows(tmp_path / "corpus.tsv") == rows


@pytest.mark.parametrize("line", ["", "1\ttrain\tno spoken text", "one\ttrain\ta\ta", "1\tfuture\ta\ta"])
def test_a_line_that_is_no_row_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "corpus.tsv").write_text(f"0\ttrain\ta\ta\n{line}\n", encoding="utf-8")

    with pytest.raises(Unusable, match=r"corpus\.tsv, line 2"):
        read_rows(tmp_path / "corpus.tsv")


def test_a_dash_without_blanks_divides_words() -> None:
    assert spoken_words("one—two three") == ["one—", "two", "three"]
